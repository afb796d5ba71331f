-- Technique insert: removes such rows; the write lock is ours, so nobody is between the two statements.
DELETE FROM rowlock_object;
SELECT changes();
