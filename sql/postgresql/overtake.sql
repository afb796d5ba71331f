-- SPDX-License-Identifier: Apache-2.0
-- Calls the roll of the waiters before the ticket $2 ($3 = 0), or removes those that did not answer call $3.
-- Waits $4 ms for the name locks.
SELECT rowlock.overtake($1::text, $2::bigint, $3::bigint, $4::bigint);
