-- SPDX-License-Identifier: Apache-2.0
-- Extends the lease $1 of the name $3 (raw bytes) and the owner $4 (NULL: any) to $2 ms from now.
SELECT rowlock.renew_lease($1::bigint, $2::bigint, pg_catalog.convert_from($3::bytea, 'UTF8'),
                           $4::text);
