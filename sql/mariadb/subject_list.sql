-- Lists subjects: name or NULL.
CALL rowlock_subject_list(?);
