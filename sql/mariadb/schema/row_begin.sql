-- Names the technique of this install before its first table is created; install.sql records it.
SET @rowlock_technique = 'row', @rowlock_table = NULL;
