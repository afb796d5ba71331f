-- Fails unless this is the transaction of subject_begin.
RELEASE rowlock_refresh;
