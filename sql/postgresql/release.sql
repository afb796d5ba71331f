-- SPDX-License-Identifier: Apache-2.0
-- Its COMMIT does not wait for the disk.
SELECT rowlock.release_lease($1::bigint, pg_catalog.convert_from($2::bytea, 'UTF8'), $3::text);
