-- Technique row: the name lock is the lock of the name's row until the transaction ends. The row of
-- rowlock_meta shows that the schema is complete, and that it has no functions. object and id_width
-- are NULL: a library that expects the functions reads these columns and refuses the schema.

{prelude}
CREATE TABLE rowlock_meta (
    only_one  {big} NOT NULL,
    version   {big} NOT NULL,
    technique VARCHAR(16) NOT NULL,
    object    {text},
    id_width  {big},
    PRIMARY KEY (only_one)
);
INSERT INTO rowlock_meta (only_one, version, technique) VALUES (1, {schema_version}, 'plain');
