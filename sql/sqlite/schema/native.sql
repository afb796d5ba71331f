-- Technique native: T is SQLite's own write lock, taken by BEGIN IMMEDIATE.

INSERT INTO rowlock_meta (version, technique) VALUES (1, 'native');

-- Committed rows of such a table: there is none.
CREATE VIEW IF NOT EXISTS rowlock_leftover AS SELECT NULL AS name WHERE 0;
