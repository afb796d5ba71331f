-- Makes the COMMIT of this transaction wait for the disk, whatever the role's default. Every grant
-- and every renewal contains this.
IF pg_catalog.current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
END IF
