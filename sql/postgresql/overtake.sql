-- SPDX-License-Identifier: Apache-2.0
-- Is the head of the queue, $3, frozen? $4: remove it. Waits $5 ms for T.
SELECT rowlock.overtake($1::text, $2::bigint, $3::bigint, $4::integer <> 0, $5::bigint);
