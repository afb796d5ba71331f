-- Technique native: the name lock is SQLite's own write lock, taken by BEGIN IMMEDIATE.

INSERT INTO rowlock_meta (only_one, version, technique) VALUES (1, {schema_version}, 'native')
    ON CONFLICT (only_one) DO UPDATE SET version = {schema_version};

-- Committed rows that hold a name: none with this technique.
CREATE VIEW IF NOT EXISTS rowlock_leftover AS SELECT NULL AS name WHERE 0;
