-- Checks that the session is alive.
SELECT 1;
