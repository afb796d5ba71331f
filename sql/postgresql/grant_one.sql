-- SPDX-License-Identifier: Apache-2.0
-- Grants a lease of one name ($1) exclusively, without waiting, directly after BEGIN. Sent only
-- where the session encoding is UTF-8, to the technique native. Casts are omitted because an
-- unprepared call pays for each word.
SELECT rowlock.grant_one($1, $2, $3, $4, $5, $6, $7, $8);
