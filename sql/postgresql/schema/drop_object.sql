-- SPDX-License-Identifier: Apache-2.0
-- Technique insert: drops the table if install created it.
DROP TABLE IF EXISTS rowlock_object;
