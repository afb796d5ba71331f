-- Names the technique of this install before its first table is created; install.sql records it.
SET @rowlock_technique = 'insert', @rowlock_table = 'rowlock_object';
