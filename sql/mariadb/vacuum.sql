-- Removes what nobody holds: -> rows removed.
CALL rowlock_vacuum_row();
