-- SPDX-License-Identifier: Apache-2.0
-- Removes what nobody holds.
SELECT rowlock.vacuum();
