-- SPDX-License-Identifier: Apache-2.0
-- Gives up the ticket $1 of the owner $2; 0: all of his.
SELECT rowlock.withdraw($1::bigint, $2::text);
