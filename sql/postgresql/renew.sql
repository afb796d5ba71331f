-- SPDX-License-Identifier: Apache-2.0
-- The lease $1 shall last $2 ms from now.
SELECT rowlock.renew_lease($1::bigint, $2::bigint);
