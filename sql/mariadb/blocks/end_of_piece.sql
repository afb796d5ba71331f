-- Restores the delimiter, and the settings that own_mode has changed.
DELIMITER ;

{former_mode};
