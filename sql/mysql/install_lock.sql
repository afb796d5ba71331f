-- Serializes installers in this database until install_unlock or the end of the session. MySQL
-- commits after each CREATE, so a transaction cannot serialize them.
SELECT GET_LOCK(CONCAT('rowlock:', LEFT(SHA2(DATABASE(), 256), 32)), 86400);
