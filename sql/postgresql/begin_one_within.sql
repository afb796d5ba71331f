-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.begin_one($1, $2);
