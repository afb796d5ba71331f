-- Restores the delimiter, and the mode that own_mode has changed.
DELIMITER ;

SET SESSION sql_mode = @rowlock_sql_mode;
