SELECT 'the server runs with ' || nullif(s.off, '')
    || ' off: after a crash of its machine a lease may be '
       'lost and granted again while its holder works, or data be damaged; turn that on'
  FROM (SELECT pg_catalog.concat_ws(' and ',
               CASE WHEN pg_catalog.current_setting('fsync') = 'off' THEN 'fsync' END,
               CASE WHEN pg_catalog.current_setting('full_page_writes') = 'off'
                   THEN 'full_page_writes' END) AS off) s;
