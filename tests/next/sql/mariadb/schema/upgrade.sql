-- Changes the tables; the pieces of an install then replace the procedures. MariaDB commits each
-- ALTER, so this may run again after an interruption: finish.sql writes the version last. While an
-- ALTER waits for a transaction that uses the table, every other session waits behind it. So it
-- gives up soon, and the caller repeats this.
ALTER TABLE rowlock_lease WAIT 1 ADD COLUMN IF NOT EXISTS {added rowlock_lease grade};
ALTER TABLE rowlock_counter WAIT 1 ADD COLUMN IF NOT EXISTS {added rowlock_counter began};
UPDATE rowlock_counter SET began = last WHERE (SELECT version FROM rowlock_meta) < {schema_version};
