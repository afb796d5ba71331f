-- Reports whether the schema exists, also in an empty file.
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'rowlock_meta';
