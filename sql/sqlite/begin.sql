-- Takes the write lock of the file at once. A deferred transaction that reads first may be unable
-- to acquire it later.
BEGIN IMMEDIATE;
