-- SPDX-License-Identifier: Apache-2.0
-- The same within $2 ms.
SELECT rowlock.begin_one($1, $2);
