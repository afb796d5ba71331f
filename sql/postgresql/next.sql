WITH asked AS (SELECT {given $1} AS name, $2::bigint AS start, $3::bigint AS "count")
{drawn_for asked};
