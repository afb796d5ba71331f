-- One installer at a time in this database, until install_unlock or the end of the session. MariaDB
-- commits after each CREATE, so it is no transaction that could keep them apart.
SELECT GET_LOCK(CONCAT('rowlock:', MD5(DATABASE())), 86400);
