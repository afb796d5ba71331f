-- SPDX-License-Identifier: Apache-2.0
-- Technique insert: the table, where install created it.
DROP TABLE IF EXISTS rowlock_object;
