-- Examines the server. Rows: check, status (0 sound, 1 warning, 2 locks will not hold), finding,
-- advice.
{examine};
