CALL rowlock_claim_job({claim_values});
