-- In the transaction that grants a lease: name, token, version, schedule, instant, due, repeats, former, its
-- outcome, node, pid, at least, history -> claimed (1), or another was faster (0).
CALL rowlock_claim_job(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
