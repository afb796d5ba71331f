-- Restores the isolation level that ends_own has found.
SET SESSION tx_isolation = v_isolation;
