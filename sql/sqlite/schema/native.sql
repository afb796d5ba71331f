-- Technique native: T is SQLite's own write lock, taken by BEGIN IMMEDIATE.

INSERT INTO rowlock_meta (version, technique) VALUES (1, 'native');
