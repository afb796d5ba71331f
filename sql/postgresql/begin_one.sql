-- Directly after BEGIN, without a time limit. Sent only where the session encoding is UTF-8. Casts
-- are omitted because an unprepared call pays for each word.
SELECT rowlock.begin_one($1);
