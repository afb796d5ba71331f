-- Claims a job in the transaction that grants its lease: name, token, version, schedule, instant,
-- due, repeats, former, its outcome, node, pid, at least, history -> 1 claimed, 0 another was
-- faster.
CALL rowlock_claim_job(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
