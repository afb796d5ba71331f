-- SPDX-License-Identifier: Apache-2.0
-- Calls the roll of the waiters before ticket $2 ($3 = 0), or removes those that have not answered
-- roll call $3. Waits up to $4 ms for the name locks.
SELECT rowlock.overtake($1::text, $2::bigint, $3::bigint, $4::bigint);
