-- Draws the next token or ticket, under the write lock.
UPDATE rowlock_number
   SET last = max(last + 1,
                  CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000);
SELECT last FROM rowlock_number;
