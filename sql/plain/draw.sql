-- Draws the next token or ticket: greater than every earlier one, and at least the microseconds
-- since 1970, so that this holds after an older copy of the database was restored. The row stays
-- locked until COMMIT.
UPDATE rowlock_number
   SET {drawn} = CASE WHEN {drawn} < {now} * 1000 THEN {now} * 1000 ELSE {drawn} + 1 END
 WHERE only_one = 1;
