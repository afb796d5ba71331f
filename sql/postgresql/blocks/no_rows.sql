-- For the techniques that keep no row of a name.

-- This technique needs no preparation.
CREATE FUNCTION rowlock.create_name(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
END $$;

CREATE FUNCTION rowlock.prepare(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
END $$;
COMMENT ON FUNCTION rowlock.prepare(text) IS
    'Prepares a name, which technique row requires before its first lock later in a transaction. '
    'Once is enough: it remains until rowlock.unlock. Call it before BEGIN.';

CREATE FUNCTION rowlock.unlock(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
END $$;
COMMENT ON FUNCTION rowlock.unlock(text) IS
    'Removes what a lock of the name leaves behind; this technique leaves nothing. The name stays '
    'locked until the transaction ends.';

-- Lists the names that the technique keeps in a table: none.
CREATE FUNCTION rowlock.names() RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;
