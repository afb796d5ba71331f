SELECT rowlock.forget_job(pg_catalog.convert_from($1::bytea, 'UTF8'));
