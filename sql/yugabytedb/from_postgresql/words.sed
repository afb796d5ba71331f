# What PostgreSQL's text becomes for YugabyteDB wherever it stands. The functions for which this is not
# enough are in functions.sql.

1,3s/on PostgreSQL/on YugabyteDB (not tested)/

# No dead rows, no pages: its tables are made of other stuff.
/^-- These come and go with every lease/,/^DELETE FROM rowlock\.beat WHERE token < 0;$/d

# Its sequences hand out numbers by the hundred to each session, and so not in order: tokens come from a row.
/^-- Tokens and tickets\. A restored dump/,/^  FROM rowlock\.origin o, rowlock\.lifted_for f/c\
-- Tokens and tickets: the last that was drawn (see rowlock.next_number).\
CREATE TABLE rowlock.origin (\
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),\
    floor    bigint NOT NULL\
);\
INSERT INTO rowlock.origin (floor) VALUES (0) ON CONFLICT DO NOTHING;
/ON SEQUENCE rowlock\.number/d
s/^GRANT SELECT ON rowlock\.lift TO/GRANT SELECT, UPDATE ON rowlock.origin TO/

# Its transactions have no number that PostgreSQL's functions would tell.
s/^( *)writer xid8/\1writer text/
s/pg_catalog\.pg_current_xact_id\(\)/rowlock.transaction()/

# Its pg_locks knows no advisory locks: who waits says himself until when he counts as alive.
/^        WITH marked AS MATERIALIZED/,/current_database\(\)\)\)/d
/^ *ELSE \(\(\(rowlock\.session_key/,/ IN \(SELECT m\.classid/c\
                    ELSE false END

s/ key: its number in pg_locks\. Names that transactions lock stand nowhere else\./ Names that transactions lock stand nowhere else./
s/'The number of a name, as it stands in pg_locks: .*';/'The number of a name.';/
