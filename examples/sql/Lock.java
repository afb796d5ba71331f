// SPDX-License-Identifier: Apache-2.0
// java Lock.java JDBC-URL: a lock in a transaction, from Java by JDBC.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;

public class Lock {
    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection(args[0])) {
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            connection.setAutoCommit(false);
            try (PreparedStatement lock = connection.prepareStatement(
                         "SELECT rowlock.exclusive(?)");
                 PreparedStatement work = connection.prepareStatement(
                         "UPDATE bond SET handled = handled + 1 WHERE id = ?")) {
                lock.setString(1, "BondBO:DK0015966592");
                lock.execute(); // not executeUpdate: a function returns a row
                System.out.println("locked");
                work.setString(1, "DK0015966592");
                work.executeUpdate();
                connection.commit();
            } catch (Exception failure) {
                connection.rollback();
                throw failure;
            }
        }
    }
}
