# Edits that turn PostgreSQL's schema into YugabyteDB's, line by line. functions.sql holds the
# functions that need more than that.

1,3s/on PostgreSQL/on YugabyteDB (not tested)/

# Its storage has no dead rows and no pages.
/^-- Every lease changes these tables/,/^$/d
/^INSERT INTO rowlock\.lease \(token, n, expires/,/^DELETE FROM rowlock\.waiter WHERE ticket < 0;$/d
/^INSERT INTO rowlock\.origin \(boot\)/d

# Its sequences give each session a block of a hundred numbers, so not in order: numbers come from a
# row.
/^-- Tokens and tickets\. A restored dump/,/^\);$/c\
-- Tokens and tickets: the last one that was drawn (see rowlock.next_number).\
CREATE TABLE rowlock.origin (\
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),\
    floor    bigint NOT NULL\
);\
INSERT INTO rowlock.origin (floor) VALUES (0) ON CONFLICT DO NOTHING;
s/pg_catalog\.nextval\('rowlock\.number'\)/rowlock.next_number()/
s/pg_catalog\.currval\('rowlock\.number'\)/0/
s/pg_catalog\.pg_sequence_last_value\('rowlock\.number'\)/(SELECT o.floor FROM rowlock.origin o)/
/ON SEQUENCE rowlock\.number/,/TO application;$/d
s/^(GRANT SELECT ON )rowlock\.origin, (rowlock\.setting TO)/\1\2 application;\
GRANT SELECT, UPDATE ON rowlock.origin TO/

# PostgreSQL's functions return no number for its transactions.
s/^( *)writer xid8/\1writer text/
s/pg_catalog\.pg_current_xact_id\(\)/rowlock.transaction()/
s/pg_catalog\.pg_current_xact_id_if_assigned\(\) IS NOT NULL/false/

# READ COMMITTED is in effect only if the servers are configured for it (see rowlock.check_use).
s/pg_catalog\.current_setting\('transaction_isolation'\) (=|IN)/pg_catalog.lower(coalesce(\
                  pg_catalog.current_setting('yb_effective_transaction_isolation_level', true),\
                  pg_catalog.current_setting('transaction_isolation'))) \1/
