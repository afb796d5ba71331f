SELECT rowlock.claim_job({claim_values});
