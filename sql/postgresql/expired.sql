-- SPDX-License-Identifier: Apache-2.0
-- The tokens of expired leases in the way of the names packed in $1; none if a live one is.
SELECT token FROM rowlock.expired($1::text) token;
