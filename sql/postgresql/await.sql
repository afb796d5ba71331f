-- SPDX-License-Identifier: Apache-2.0
-- Waits up to $3 ms for the session lock of a ticket ($1 = 0) or a token ($1 = 1) with number $2.
-- $4 is the caller's own ticket.
SELECT rowlock.await($1::integer, $2::bigint, $3::bigint, $4::bigint);
