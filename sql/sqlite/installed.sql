-- Reports whether the schema exists. Never fails.
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'rowlock_meta';
