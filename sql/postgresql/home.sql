-- Returns the schema in which an unqualified CREATE TABLE creates tables. Unqualified statements on
-- rowlock_object resolve to it.
SELECT pg_catalog.quote_ident(coalesce(current_schema(), 'public')) || '.';
