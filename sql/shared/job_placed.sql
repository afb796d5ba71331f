-- A part of job_list and job_trouble: the jobs of `named` with the token of their run before the
-- one under way, and of the lease without a process that pauses them for longest.
placed AS (
    SELECT named.*,
           (SELECT other.token FROM {the}run AS other
             WHERE other.job = named.name AND other.token <> named.running
             ORDER BY other.token DESC LIMIT 1) AS former,
           (SELECT other.token FROM {leases_of named.name} AS other
              JOIN {beat_of other.token} AS beat ON beat.token = other.token
             WHERE other.name = {lock_of named.name} AND other.pid IS NULL
               AND beat.expires > {now}
             ORDER BY beat.expires DESC LIMIT 1) AS pause
      FROM named)
