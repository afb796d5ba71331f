-- Technique insert: a program that inserts and deletes a unique key in rowlock_object takes
-- SQLite's write lock by the INSERT. So it excludes rowlock, which takes the write lock by BEGIN
-- IMMEDIATE. rowlock also checks the table for committed rows that such a program left.

INSERT INTO rowlock_meta (only_one, version, technique, object, id_width, owned)
    SELECT 1, {schema_version}, 'insert', 'rowlock_object', 255,
           NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'rowlock_object')
     WHERE true
    ON CONFLICT (only_one)
    DO UPDATE SET version = {schema_version}, owned = max(owned, excluded.owned);
CREATE TABLE IF NOT EXISTS rowlock_object (
    uuid      VARCHAR(32)  NOT NULL PRIMARY KEY,
    id        VARCHAR(255) NOT NULL UNIQUE,
    locked_ts TIMESTAMP    NOT NULL
);
UPDATE rowlock_meta SET id_width = coalesce(
    (SELECT nullif(CAST(substr(type, instr(type, '(') + 1) AS INTEGER), 0)
       FROM pragma_table_info('rowlock_object') WHERE name = 'id'), 255);

-- Committed rows that hold a name.
CREATE VIEW IF NOT EXISTS rowlock_leftover AS SELECT id AS name FROM rowlock_object;
