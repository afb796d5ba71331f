-- Changes the other tables. install.sql and the pieces after it then replace the functions and
-- create the new ones, in the same transaction, after adopt.sql has checked the owners, whose
-- triggers the UPDATE would run.
SET LOCAL lock_timeout = '500ms';
ALTER TABLE rowlock.counter ADD COLUMN IF NOT EXISTS {added rowlock.counter began};
UPDATE rowlock.counter SET began = last
 WHERE (SELECT m.version FROM rowlock.meta m) < {schema_version};
