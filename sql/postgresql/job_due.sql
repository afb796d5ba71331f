UPDATE rowlock.job j SET version = j.version + 1, due = $3::bigint
 WHERE j.name = pg_catalog.convert_from($1::bytea, 'UTF8') COLLATE "C" AND j.version = $2::bigint
RETURNING 1;
