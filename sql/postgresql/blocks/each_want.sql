-- The arrays of one call as rows.
ROWS FROM (pg_catalog.unnest(names), pg_catalog.unnest(modes), pg_catalog.unnest(limits),
           pg_catalog.unnest(counts)) u (name, mode, "limit", "count")
