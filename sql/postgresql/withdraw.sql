-- SPDX-License-Identifier: Apache-2.0
-- Deletes the ticket $1 of the owner $2, or all tickets of that owner ($1 = 0).
SELECT rowlock.withdraw($1::bigint, $2::text);
