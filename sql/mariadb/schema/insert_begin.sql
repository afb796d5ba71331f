-- The technique of this install, before its first table: install.sql writes it down.
SET @rowlock_technique = 'insert', @rowlock_table = 'rowlock_object';
