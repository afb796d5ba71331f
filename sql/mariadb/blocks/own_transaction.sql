-- Begins the only transaction of a procedure; an error ends it and is raised again.
{handler_rolls_back};

CALL rowlock_require_no_transaction();
START TRANSACTION READ WRITE;
