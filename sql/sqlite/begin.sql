-- The write lock of the file, at once: a deferred transaction that reads first may not get it later.
BEGIN IMMEDIATE;
