-- The file is always there.
SELECT 1;
