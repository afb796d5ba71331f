-- The technique of this install, before its first table: install.sql writes it down.
SET @rowlock_technique = 'row', @rowlock_table = NULL;
