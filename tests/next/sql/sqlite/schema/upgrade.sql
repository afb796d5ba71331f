-- Changes the tables, in the transaction of the upgrade. The pieces of an install create the views
-- again, because they replace none.
ALTER TABLE rowlock_lease ADD {added rowlock_lease grade};
ALTER TABLE rowlock_counter ADD {added rowlock_counter began};
UPDATE rowlock_counter SET began = last;
DROP VIEW rowlock_jobs;
DROP VIEW rowlock_lock;
DROP VIEW rowlock_acquire;
