SELECT rowlock.finish_job($1::bigint, pg_catalog.convert_from($2::bytea, 'UTF8'), $3::integer,
       pg_catalog.convert_from($4::bytea, 'UTF8'));
