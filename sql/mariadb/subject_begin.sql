-- Begins a refresh of a stale subject; requires the lock of subject:NAME: name, max_age_ms, token,
-- description, host, pid, program -> stale, age_ms, version.
CALL rowlock_subject_begin(?, ?, ?, ?, ?, ?, ?);
