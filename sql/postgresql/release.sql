-- SPDX-License-Identifier: Apache-2.0
-- Ends the lease $1; does not wait for the disk.
SELECT rowlock.release_lease($1::bigint);
