-- SPDX-License-Identifier: Apache-2.0
-- Lists the tokens of expired leases that conflict with the names packed in $1; none if a live
-- lease conflicts.
SELECT token FROM rowlock.expired($1::text) token;
