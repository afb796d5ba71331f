-- SPDX-License-Identifier: Apache-2.0
-- Right after BEGIN: locks one name ($1) exclusively, however long it takes; answers with the status alone.
-- Sent where the session speaks UTF-8; bare, because an unprepared call pays for each word.
SELECT rowlock.begin_one($1);
