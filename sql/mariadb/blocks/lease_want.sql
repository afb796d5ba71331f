-- The variables that rowlock_next_lease_want sets.
DECLARE v_name VARBINARY(255);
DECLARE v_mode CHAR(1) CHARACTER SET ascii;
DECLARE v_limit, v_count INT;
