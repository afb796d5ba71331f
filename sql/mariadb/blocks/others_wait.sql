-- The number of those that wait for p_name; NULL: none does.
(SELECT NULLIF(count(*), 0) FROM rowlock_waiter w
  WHERE w.name = p_name
    AND (w.alive_until IS NULL OR w.alive_until > utc_timestamp(6)))
