-- SPDX-License-Identifier: Apache-2.0
-- psql -v ON_ERROR_STOP=1 -f job.sql URL: performs the job "prices" if it is due.
SELECT coalesce(token, 0) AS token, state = 'claimed' AS is_mine
  FROM rowlock.claim('prices', 'every 5m', gen_random_uuid()::text, ttl => '10 min') \gset
\if :is_mine
BEGIN;
SELECT rowlock.fence('job:prices', :token);
UPDATE bond SET handled = handled + 1;
COMMIT;
SELECT rowlock.finish(:token, output => 'prices are refreshed');
\endif
