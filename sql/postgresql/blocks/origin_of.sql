-- The origin for which the numbers are valid: this start of the server, this database (its number
-- is part of the file's path) and this row % of rowlock.origin.
pg_catalog.hashint8extended(
    (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time())
     * 1000000::double precision)::bigint,
    pg_catalog.hashtextextended(
        pg_catalog.pg_relation_filepath('rowlock.number'::pg_catalog.regclass),
        %.xmin::text::bigint)) & 9223372036854775807 | 1::bigint
