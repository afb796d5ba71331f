# Edits that turn PostgreSQL's schema into YugabyteDB's, line by line. functions.sql holds the
# functions that need more than that.

1,3s/on PostgreSQL/on YugabyteDB (not tested)/

# YugabyteDB's storage has no dead rows and no pages.
/^-- No lease of the name has a smaller token/,/^$/d
/^-- Stores the token of a grant/,/^$/d
/(^| )AND l\.token \+ 0 >= coalesce\(\(SELECT s\.token/,/ 0::bigint\)/d
/^-- Makes every number from now on greater than this one/,/^$/d
/^-- A greater least token would hide a lease/,/^$/d
/DELETE FROM rowlock\.least_token s$/,/;$/d
/^            EXECUTE pg_catalog\.format\($/{
N
/least_token/{
N
d
}
}
/ON rowlock\.least_token TO application;$/d
s/ 'least_token',//
s/^(    quiet_until timestamptz .*) (-- as in heartbeat)/\1, \2\n    PRIMARY KEY (token, name, n)/
/^-- It has no key: in one of token, name and n/,/^END \$\$;$/d
/^    ALTER TABLE rowlock\.lease DROP CONSTRAINT IF EXISTS lease_pkey/,/ lease_token /d
/^-- The column is token \+ 0/d
s/\(name, \(token \+ 0\)\)/(name)/
/^-- Every lease reads these tables/,/^$/d
/^INSERT INTO rowlock\.lease \(token, name, mode, note\)$/,/^DELETE FROM rowlock\.heartbeat /d
/^INSERT INTO rowlock\.origin \(boot\)/d

# Its sequences give each session a block of a hundred numbers, so not in order: tokens come from a
# row.
/^-- Tokens and tickets\. A restored dump/,/^  FROM rowlock\.origin o;$/c\
-- Tokens and tickets: the last one that was drawn (see rowlock.next_number).\
CREATE TABLE rowlock.origin (\
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),\
    floor    bigint NOT NULL\
);\
INSERT INTO rowlock.origin (floor) VALUES (0) ON CONFLICT DO NOTHING;
/ON SEQUENCE rowlock\.number/,/TO application;$/d
s/^GRANT SELECT ON rowlock\.lift TO/GRANT SELECT, UPDATE ON rowlock.origin TO/

# Its upgrade is not one transaction, and it has no lock of a whole table.
/^-- While this waits for a transaction that uses the tables/,/^LOCK TABLE /d
/^    -- While this waits for a transaction that uses the tables/,/^    LOCK TABLE /d
/^    LOCK TABLE rowlock\.waiter/d
# It cannot add a column that is a key.
/^ALTER TABLE rowlock\.(meta|origin)$/,/_one_row;$/d

# It does not apply lock_timeout to row locks: a fence polls.
/^CREATE FUNCTION rowlock\.fence\(name text, token bigint, limit_ms bigint/,/^EXCEPTION$/{
    /^    saved constant text /c\
    until constant timestamptz := rowlock.after(greatest(limit_ms, 1));
    /^    PERFORM .*'lock_timeout', least/,/^    PERFORM .*'lock_timeout', saved/c\
    LOOP\
        PERFORM FROM rowlock.lease l\
            WHERE l.token = fence.token AND l.name = fence.name COLLATE "C" FOR SHARE SKIP LOCKED;\
        status := CASE WHEN FOUND THEN 0\
                       WHEN NOT EXISTS (SELECT FROM rowlock.lease l WHERE l.token = fence.token\
                                           AND l.name = fence.name COLLATE "C") THEN 8 END;\
        EXIT WHEN status IS NOT NULL;\
        PERFORM rowlock.pause(until);\
    END LOOP;
}

# PostgreSQL's functions return no number for its transactions.
s/^( *)writer xid8/\1writer text/
s/pg_catalog\.pg_current_xact_id\(\)/rowlock.transaction()/
s/pg_catalog\.pg_current_xact_id_if_assigned\(\) IS NOT NULL/false/

# Its pg_locks shows no advisory locks: waiters record in alive_until how long they count as alive.
/^        WITH session_locked AS MATERIALIZED/,/ AND k\.granted\)$/d
s/ ELSE rowlock\.session_key\(w\.ticket\) IN .* END$/ ELSE false END/

s/ key: its advisory lock key in pg_locks\. Other names/ Other names/
/^    'Returns the advisory lock key of a name\./{
N
s/.*/    'Returns the key of a name.';/
}
