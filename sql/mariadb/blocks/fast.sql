-- Whether a statement of its own may change a row of rowlock_name.
NOT (@@in_transaction OR {reads_only} OR @@GLOBAL.wsrep_on) AND @@autocommit
AND @@tx_isolation = 'READ-COMMITTED'
