-- SPDX-License-Identifier: Apache-2.0
-- The lease $1 shall last $2 ms from now.
SELECT rowlock.renew($1::bigint, $2::bigint);
