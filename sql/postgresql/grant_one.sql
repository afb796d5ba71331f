-- SPDX-License-Identifier: Apache-2.0
-- Directly after BEGIN. Sent only where the session encoding is UTF-8, to the technique native.
-- Casts are omitted because an unprepared call pays for each word.
SELECT rowlock.grant_one($1, $2, $3, $4, $5, $6, $7, $8);
