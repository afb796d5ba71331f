-- Starts a transaction of the library, with every option stated: the defaults of a role or database
-- may differ.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
