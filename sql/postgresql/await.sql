-- SPDX-License-Identifier: Apache-2.0
-- Waits $3 ms for the session lock of the ticket ($1 = 0) or the token (1) $2; $4 is our own ticket.
SELECT rowlock.await($1::integer, $2::bigint, $3::bigint, $4::bigint);
