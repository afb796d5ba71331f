-- Takes the write lock of the file at once: a deferred transaction that reads first may fail to get
-- it later.
BEGIN IMMEDIATE;
