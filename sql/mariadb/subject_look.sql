-- Reports whether a subject is stale: name, max_age_ms -> stale, age_ms.
CALL rowlock_subject_look(?, ?);
