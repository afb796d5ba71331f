-- Returns the server's id of the session that answers.
SELECT CONNECTION_ID() AS number;
