-- Group commit: the grants of several names, each exclusively, as grant_free; place and token of
-- each. Parameters: HEX(name):owner:ttl_ms:pid:HEX(command):HEX(note), joined by commas; the host;
-- and the answer of verify.
WITH asked AS (
    SELECT k.*, $3::xid AS origin, $4::text::timestamptz AS started, $5::bigint AS floor,
           $6::bigint AS quiet_ms
      FROM (SELECT p.place, {from_hex p.part[1]} COLLATE "C" AS name, p.part[2] AS owner,
                   p.part[3]::bigint AS ttl_ms, {storable $2} AS host, p.part[4]::bigint AS pid,
                   {storable_hex p.part[5]} AS command, {storable_hex p.part[6]} AS note
              FROM (SELECT pg_catalog.string_to_array(t.want, ':', '') AS part, t.place
                      FROM pg_catalog.unnest(pg_catalog.string_to_array($1::text, ','))
                           WITH ORDINALITY t (want, place)) p OFFSET 0) k),
granted AS (
    INSERT INTO rowlock.lease (token, n, name, owner, expires, acquired, quiet_until, host, pid,
                               command, note)
    {free_of asked}
     ORDER BY n.name -- as others that lock several names
    ON CONFLICT (name, n) DO NOTHING
    RETURNING name, token)
SELECT a.place, g.token
  FROM granted g JOIN asked a ON a.name = g.name;
