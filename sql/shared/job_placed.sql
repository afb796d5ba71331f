-- A part of job_list and job_trouble: adds to the jobs of `named` the token of their latest run
-- except the one under way, and that of the lease which pauses them longest; such a lease has no
-- process.
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
