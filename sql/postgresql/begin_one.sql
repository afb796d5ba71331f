-- SPDX-License-Identifier: Apache-2.0
-- Locks one name ($1) exclusively, directly after BEGIN, without a time limit; returns the status
-- alone. Sent only where the session encoding is UTF-8. Casts are omitted because an unprepared
-- call pays for each word.
SELECT rowlock.begin_one($1);
