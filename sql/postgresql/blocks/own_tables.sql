-- Whether the row c of pg_class is a table of rowlock. A schema rowlock may have other tables too.
c.relnamespace = 'rowlock'::pg_catalog.regnamespace::oid AND c.relkind = 'r'
AND c.relname IN ('meta', 'lease', 'waiter', 'origin', 'counter', 'job', 'run', 'subject', 'expiry',
                  'history', 'setting')
