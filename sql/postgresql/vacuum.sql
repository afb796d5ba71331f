-- SPDX-License-Identifier: Apache-2.0
-- Removes expired leases, dead tickets and rows of names that no session holds.
SELECT rowlock.vacuum();
