-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.prepare(w.name) FROM rowlock.unpack($1::text) w;
