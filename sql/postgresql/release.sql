-- Its COMMIT does not wait for the disk.
SELECT CASE WHEN rowlock.end_lease($1::bigint, {given $2}, $3::text, session => $4::bigint)
            THEN 0 ELSE 8 END
  FROM pg_catalog.set_config('synchronous_commit', 'off', true);
