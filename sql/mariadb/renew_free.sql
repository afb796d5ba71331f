-- Alone: renews a lease of a row; in any other case it changes nothing.
UPDATE rowlock_name FORCE INDEX (PRIMARY)
   SET expires = GREATEST(expires, utc_timestamp(6) + INTERVAL ?2 * 1000 MICROSECOND)
 WHERE name = ?3 AND token = ?1 AND owner = ?4 AND held = 1 AND stop = 0
   AND {fast};
