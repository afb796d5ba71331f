UPDATE rowlock.job j SET version = j.version + 1, due = $3::bigint
 WHERE j.name = {given $1} COLLATE "C" AND j.version = $2::bigint
RETURNING 1;
