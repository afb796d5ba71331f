-- SPDX-License-Identifier: Apache-2.0
-- Makes the names packed in $1 known (technique row).
SELECT rowlock.prepare(w.name) FROM rowlock.unpack($1::text) w;
