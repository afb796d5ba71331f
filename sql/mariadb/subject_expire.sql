-- Marks a subject as stale: name -> 1; 0: unknown.
CALL rowlock_subject_expire(?);
