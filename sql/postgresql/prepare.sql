-- SPDX-License-Identifier: Apache-2.0
-- Creates the rows of the names packed in $1 (technique row).
SELECT rowlock.prepare(w.name) FROM rowlock.unpack($1::text) w;
