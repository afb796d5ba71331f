/* SPDX-License-Identifier: Apache-2.0 */
/* The competitor of transport.c through JDBC, in the same JVM. Each method returns null, or the text
   of an error. A lock of an engine is the statement LOCK. */
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

public final class ByHand {
    private static final String OWNER = "0123456789abcdef0123456789abcdef";
    private static Connection connection;
    private static PreparedStatement lock, look, claim, free;

    private static void create() throws SQLException {
        try {
            connection.createStatement().executeUpdate("CREATE TABLE bench_lease (name VARCHAR(510)"
                    + " NOT NULL PRIMARY KEY, owner VARCHAR(32), expires BIGINT)");
        } catch (SQLException there) {
            connection.rollback();
        }
        connection.commit();
        connection.createStatement().executeUpdate("DELETE FROM bench_lease");
        PreparedStatement add = connection.prepareStatement("INSERT INTO bench_lease (name) VALUES (?)");
        for (int i = 0; i < 50; i++) {
            add.setString(1, "bench:" + i);
            add.executeUpdate();
        }
        connection.commit();
    }

    /* URL, a line feed, LOCK */
    public static byte[] open(byte[] text) {
        try {
            String[] words = new String(text).split("\n");
            connection = DriverManager.getConnection(words[0]);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            connection.setAutoCommit(false);
            create();
            lock = connection.prepareStatement(words[1]);
            look = connection.prepareStatement("SELECT token, kind, permits, owner, host, pid,"
                    + " command, note, acquired, name FROM rowlock_lease WHERE name = ?");
            claim = connection.prepareStatement("UPDATE bench_lease SET owner = ?, expires = ?"
                    + " WHERE name = ? AND (owner IS NULL OR expires <= ?)");
            free = connection.prepareStatement("UPDATE bench_lease SET owner = NULL"
                    + " WHERE name = ? AND owner = ?");
            return null;
        } catch (Throwable failure) {
            return failure.toString().getBytes();
        }
    }

    private static void run(PreparedStatement statement, String name) throws SQLException {
        statement.setString(1, name);
        if (!statement.execute())
            return;
        ResultSet rows = statement.getResultSet();
        while (rows.next())
            rows.getString(1);
        rows.close();
    }

    public static byte[] lock(byte[] name) {
        try {
            run(lock, new String(name));
            run(look, new String(name));
            connection.commit();
            return null;
        } catch (Throwable failure) {
            return failure.toString().getBytes();
        }
    }

    public static byte[] lease(byte[] name) {
        try {
            long now = System.currentTimeMillis();
            claim.setString(1, OWNER);
            claim.setLong(2, now + 30000);
            claim.setString(3, new String(name));
            claim.setLong(4, now);
            int claimed = claim.executeUpdate();
            connection.commit();
            free.setString(1, new String(name));
            free.setString(2, OWNER);
            int freed = free.executeUpdate();
            connection.commit();
            return claimed == 1 && freed == 1 ? null : "not one row".getBytes();
        } catch (Throwable failure) {
            return failure.toString().getBytes();
        }
    }
}
