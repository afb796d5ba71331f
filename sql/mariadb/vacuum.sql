CALL rowlock_vacuum_row();
