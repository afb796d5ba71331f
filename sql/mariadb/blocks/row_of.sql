-- Sets v_name to the name whose row has the lease of the token %; NULL: no row has it. If p_name is
-- not NULL, only the row of that name counts. A killed read is an error.
SET v_known = NULL, v_name = NULL;
SELECT count(*), MAX(name) INTO v_known, v_name FROM rowlock_name
 WHERE token = % AND held = 1 AND (p_name IS NULL OR name = p_name);
CALL rowlock_check_answer(v_known);
