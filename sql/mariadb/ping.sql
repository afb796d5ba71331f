-- Is the session still there?
SELECT 1;
