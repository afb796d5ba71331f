-- SPDX-License-Identifier: Apache-2.0
-- Waits $3 ms for the session lock of the ticket ($1 = 0) or the token (1) $2.
SELECT rowlock.await($1::integer, $2::bigint, $3::bigint);
