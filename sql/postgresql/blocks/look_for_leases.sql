-- The end of begin_one: the name lock is taken, and most names have no lease.
PERFORM FROM rowlock.lease l WHERE l.name = begin_one.name;
IF FOUND THEN
    RETURN rowlock.look(name, false);
END IF;
RETURN 0;
