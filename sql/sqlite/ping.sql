-- Needs no server: a file has no session that could be lost.
SELECT 1;
