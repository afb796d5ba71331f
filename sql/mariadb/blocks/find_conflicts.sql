-- Finds the conflicts of the wants and the ticket %.
CALL rowlock_find_conflicts(%, v_live, v_expires, v_expired, v_clash, v_name, v_detail);
