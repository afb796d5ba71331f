-- Serializes installers in this database until install_unlock or the end of the session. MariaDB
-- commits after each CREATE, so a transaction cannot serialize them.
SELECT GET_LOCK(CONCAT('rowlock:', MD5(DATABASE())), 86400);
