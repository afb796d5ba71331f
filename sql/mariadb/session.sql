-- What end_session wants: -> number, start.
CALL rowlock_session();
