-- Returns the name of this session's database. The URL need not contain it: libpq then uses the
-- user's name.
SELECT pg_catalog.current_database()::text;
