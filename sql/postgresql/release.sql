-- SPDX-License-Identifier: Apache-2.0
-- Ends the lease $1 of the name $2 (raw bytes) and the owner $3 (NULL: any). Its COMMIT does not
-- wait for the disk.
SELECT rowlock.release_lease($1::bigint, pg_catalog.convert_from($2::bytea, 'UTF8'), $3::text);
