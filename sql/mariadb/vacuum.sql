-- Removes expired leases, dead tickets and rows of unheld names: -> number of rows removed.
CALL rowlock_vacuum_row();
