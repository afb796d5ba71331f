WITH forgotten AS (
    DELETE FROM rowlock.name r
        USING (SELECT u.name FROM rowlock.name u
                WHERE u.name = {given $1} COLLATE "C" FOR UPDATE SKIP LOCKED) unheld
     WHERE r.name = unheld.name RETURNING r.name)
DELETE FROM rowlock.prepared p USING forgotten f WHERE p.name = f.name;
