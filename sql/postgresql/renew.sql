-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.renew_lease($1::bigint, $2::bigint, pg_catalog.convert_from($3::bytea, 'UTF8'),
                           $4::text);
