SELECT 'server', 0, 'PostgreSQL ' || pg_catalog.current_setting('server_version')
    || ', a primary', NULL
UNION ALL
SELECT 'pooler', CASE WHEN p.kind IS NULL THEN 0 ELSE 1 END,
       coalesce(p.kind || ': waiters poll, because no session of the server is theirs alone',
                'none: the session is the server''s own'),
       CASE WHEN p.kind IS NOT NULL
           THEN 'if hand-overs take too long, use a URL of the server itself' END
  FROM (SELECT CASE WHEN $2::integer = 1 THEN 'a pooler in transaction mode'
                    WHEN $1::bigint IS DISTINCT FROM pg_catalog.pg_backend_pid()::bigint
                        THEN 'a pooler, in session mode as far as two sessions show' END AS kind) p
UNION ALL
SELECT 'isolation', CASE WHEN s.level = 'read committed' THEN 0 ELSE 1 END,
       'transactions are ' || pg_catalog.upper(s.level) || ' by default'
    || CASE WHEN s.level = 'read committed' THEN ''
           ELSE ': a lock inside your own transaction may be refused' END,
       CASE WHEN s.level <> 'read committed' THEN pg_catalog.format(
           'ALTER ROLE %I SET default_transaction_isolation = ''read committed'';', current_user)
       END
  FROM (SELECT pg_catalog.current_setting('default_transaction_isolation') AS level) s
UNION ALL
SELECT 'read-only', CASE WHEN s.state = 'off' THEN 0 ELSE 1 END,
       CASE WHEN s.state = 'off' THEN 'transactions may write by default'
           ELSE 'transactions are read-only by default: a lock inside your own transaction may be '
                'refused' END,
       CASE WHEN s.state <> 'off' THEN pg_catalog.format(
           'ALTER ROLE %I SET default_transaction_read_only = off;', current_user) END
  FROM (SELECT pg_catalog.current_setting('default_transaction_read_only') AS state) s
UNION ALL
SELECT 'autovacuum', CASE WHEN a.off IS NULL AND t.off IS NULL THEN 0 ELSE 1 END,
       CASE WHEN a.off IS NOT NULL
           THEN 'the server runs with ' || a.off || ' off: dead rows make locks slow'
           WHEN t.off IS NOT NULL
               THEN 'it is off for ' || t.off || ': dead rows make locks slow'
           ELSE 'on' END,
       CASE WHEN a.off IS NOT NULL
           THEN pg_catalog.format('ALTER SYSTEM SET %I = on; SELECT pg_reload_conf();', a.off)
           ELSE t.advice END
  FROM (SELECT CASE WHEN pg_catalog.current_setting('autovacuum') = 'off' THEN 'autovacuum'
                    WHEN pg_catalog.current_setting('track_counts') = 'off' THEN 'track_counts'
               END AS off) a
 CROSS JOIN (
    SELECT pg_catalog.string_agg('rowlock.' || c.relname::text, ', ' ORDER BY c.relname) AS off,
           pg_catalog.string_agg(pg_catalog.format(
               'ALTER TABLE rowlock.%I RESET (autovacuum_enabled);', c.relname), ' '
               ORDER BY c.relname) AS advice
      FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'rowlock'
     WHERE EXISTS (SELECT FROM pg_catalog.pg_options_to_table(c.reloptions) o
                    WHERE o.option_name = 'autovacuum_enabled'
                      AND NOT o.option_value::boolean)) t
UNION ALL
SELECT 'dead-rows', CASE WHEN d.many IS NULL THEN 0 ELSE 1 END,
       coalesce(d.many, coalesce(d.count, 0)::text || ' in all tables of rowlock'), d.advice
  FROM (SELECT pg_catalog.sum(s.n_dead_tup) AS count,
               pg_catalog.string_agg('rowlock.' || s.relname::text || ' has ' || s.n_dead_tup::text
                   || ' dead rows', ', ' ORDER BY s.relname) FILTER (WHERE x.many) AS many,
               pg_catalog.string_agg(pg_catalog.format('VACUUM rowlock.%I;', s.relname), ' '
                   ORDER BY s.relname) FILTER (WHERE x.many)
                   || ' if they stay, an old transaction keeps them' AS advice
          FROM pg_catalog.pg_stat_all_tables s
         CROSS JOIN LATERAL (SELECT s.n_dead_tup > 10000
                                AND s.n_dead_tup > 2 * s.n_live_tup AS many) x
         WHERE s.schemaname = 'rowlock') d
UNION ALL
SELECT 'tables', coalesce(pg_catalog.max(w.status), 0),
       coalesce(pg_catalog.string_agg(w.what || ': ' || w.names, '; ' ORDER BY w.what),
                'nothing hides, changes or adds rows'),
       pg_catalog.string_agg(w.advice, ' ' ORDER BY w.what)
  FROM (SELECT h.what, pg_catalog.max(h.status) AS status,
               pg_catalog.string_agg(c.name, ', ' ORDER BY c.name) AS names,
               pg_catalog.string_agg(DISTINCT h.advice, ' ') AS advice
          FROM (
            SELECT c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name,
                   c.relrowsecurity, c.relpersistence, n.nspname = 'rowlock' AS own
              FROM pg_catalog.pg_class c
              JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('r', 'p')
               AND (n.nspname = 'rowlock' -- or the table of technique insert
                    OR EXISTS (SELECT FROM pg_catalog.pg_trigger t
                                 JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
                                 JOIN pg_catalog.pg_namespace f ON f.oid = p.pronamespace
                                WHERE t.tgrelid = c.oid AND f.nspname = 'rowlock'
                                  AND p.proname = 'lock_object'))) c
         CROSS JOIN LATERAL (
            SELECT 2 AS status, 'row level security is on' AS what,
                   'ALTER TABLE ' || c.name || ' DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL '
                       'SECURITY;' AS advice
             WHERE c.relrowsecurity
            UNION ALL
            SELECT 1, 'row level security would hide rows if it were switched on',
                   'rowlock schema install'
             WHERE c.own
               AND (SELECT pg_catalog.count(*) FROM pg_catalog.pg_policy p
                     WHERE p.polrelid = c.oid AND p.polname IN ('!rowlock', 'rowlock')) < 2
            UNION ALL
            SELECT 2, 'unlogged, so empty after a crash of the server',
                   'ALTER TABLE ' || c.name || ' SET LOGGED;'
             WHERE c.relpersistence = 'u'
            UNION ALL
            SELECT 2, pg_catalog.format('a rule %I', r.rulename),
                   pg_catalog.format('DROP RULE %I ON %s;', r.rulename, c.name)
              FROM pg_catalog.pg_rewrite r WHERE r.ev_class = c.oid
            UNION ALL
            SELECT 2, pg_catalog.format('a trigger %I', t.tgname),
                   pg_catalog.format('DROP TRIGGER %I ON %s;', t.tgname, c.name)
              FROM pg_catalog.pg_trigger t
              JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
              JOIN pg_catalog.pg_namespace f ON f.oid = p.pronamespace
             WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND f.nspname <> 'rowlock'
            UNION ALL
            SELECT 2, 'rows shared with ' || CASE WHEN k.inhrelid = c.oid THEN k.inhparent
                                                  ELSE k.inhrelid END::pg_catalog.regclass::text,
                   pg_catalog.format('ALTER TABLE %s NO INHERIT %s;',
                                     k.inhrelid::pg_catalog.regclass,
                                     k.inhparent::pg_catalog.regclass)
              FROM pg_catalog.pg_inherits k WHERE c.oid IN (k.inhrelid, k.inhparent)) h
         GROUP BY h.what) w
HAVING EXISTS (SELECT FROM pg_catalog.pg_class c
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'rowlock' AND c.relname = 'meta');
