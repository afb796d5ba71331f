// SPDX-License-Identifier: Apache-2.0
// java MariadbLock.java JDBC-URL: a lock in a transaction, from Java by MariaDB's JDBC driver.
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;

public class MariadbLock {
    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(args[0])) {
            connection.setAutoCommit(false);
            try (CallableStatement lock = connection.prepareCall(
                         "{CALL rowlock_begin_exclusive(?)}");
                 Statement work = connection.createStatement()) {
                lock.setString(1, "BondBO:DK0015966592");
                lock.execute();
                System.out.println("locked");
                work.executeUpdate(
                        "UPDATE bond SET handled = handled + 1 WHERE id = 'DK0015966592'");
                connection.commit();
            } catch (Exception failure) {
                connection.rollback();
                throw failure;
            }
        }
    }
}
