/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java part of the JDBC driver: an object for each session, a call for each statement. Requests
 * and replies are bytes (src/driver/jdbc/jvm.h), so that no text and no exception crosses JNI.
 * The class is checked in; tools/embed-class says how to compile it. It must stay one class, so it
 * has no nested classes and no lambdas.
 */
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.sql.Types;
import java.util.HashMap;
import java.util.Properties;

public final class RowlockSession {
    private final Connection connection;
    private final HashMap<String, PreparedStatement> prepared = new HashMap<>();
    private volatile Statement running;

    private final boolean national; /* other characters than ASCII's need setNString */

    private RowlockSession(Connection connection, boolean national) {
        this.connection = connection;
        this.national = national;
    }

    /* Returns the session, or null, and the reply: the product's name, or the failure. */
    public static Object[] open(byte[] request) throws IOException {
        Connection connection = null;
        Driver driver = null;
        try {
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(request));
            in.readByte();
            String url = text(in), name = text(in);
            Properties properties = new Properties();
            for (int n = in.readInt(); n > 0; n--) {
                String key = text(in);
                properties.setProperty(key, text(in));
            }
            driver = driver(url, name);
            connection = driver.connect(url, properties);
            connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            setUp(connection);
            connection.setAutoCommit(false);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeByte('+');
            text(out, connection.getMetaData().getDatabaseProductName());
            connection.commit();
            return new Object[] {
                new RowlockSession(connection, isSqlServer(connection)), bytes.toByteArray()};
        } catch (Throwable failure) {
            close(connection);
            return new Object[] {null, failed(driver == null ? '?' : '-', failure)};
        }
    }

    /* DriverManager would load the drivers of all jars, which costs a start 50 ms. */
    private static Driver driver(String url, String name) throws SQLException {
        try {
            Driver driver = (Driver) Class.forName(name).getDeclaredConstructor().newInstance();
            if (driver.acceptsURL(url))
                return driver;
        } catch (Exception | LinkageError failure) {
            /* the class has another name in this version */
        }
        return DriverManager.getDriver(url);
    }

    /* SQL Server: otherwise the end of a wait rolls the whole transaction back. */
    private static void setUp(Connection connection) throws SQLException {
        if (!isSqlServer(connection))
            return;
        Statement statement = connection.createStatement();
        try {
            statement.execute("SET XACT_ABORT OFF");
            statement.execute("SET LOCK_TIMEOUT -1");
        } finally {
            close(statement);
        }
    }

    private static boolean isSqlServer(Connection connection) throws SQLException {
        return connection.getMetaData().getDatabaseProductName().startsWith("Microsoft SQL Server");
    }

    public byte[] request(byte[] request) throws IOException {
        try {
            DataInputStream in = new DataInputStream(new ByteArrayInputStream(request));
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeByte('+');
            switch (in.readByte()) {
            case 'x': execute(in, out); break;
            case 's': script(text(in)); break;
            case 'c': commit(); break;
            case 'r': connection.rollback(); break;
            default: out.writeByte(connection.isValid(2) ? 1 : 0); break;
            }
            return bytes.toByteArray();
        } catch (Throwable failure) {
            return failed('-', failure);
        }
    }

    /* PostgreSQL: a COMMIT whose wait for the synchronous standby was cancelled succeeds, but only
       on this server. The text of the warning depends on the server's language, so the name of the
       function identifies it. */
    private void commit() throws SQLException {
        connection.clearWarnings();
        connection.commit();
        for (SQLWarning warning = connection.getWarnings(); warning != null;
                warning = warning.getNextWarning())
            if ("SyncRepWaitForLSN".equals(routine(warning)))
                throw new SQLException("the synchronous standby did not confirm it: the primary "
                        + "has committed, but a fail-over would undo that", "08007");
    }

    private static String routine(SQLWarning warning) {
        try {
            Object error = warning.getClass().getMethod("getServerErrorMessage").invoke(warning);
            return (String) error.getClass().getMethod("getRoutine").invoke(error);
        } catch (Throwable failure) {
            return null; /* another driver */
        }
    }

    /* Called by another thread. */
    public void cancel() {
        try {
            Statement statement = running;
            if (statement != null)
                statement.cancel();
        } catch (Throwable failure) {
            /* the statement has ended, or the session is given up later */
        }
    }

    public void close() {
        close(connection);
    }

    /* A statement that failed is not kept: what it refers to may have been dropped. */
    private void execute(DataInputStream in, DataOutputStream out)
            throws IOException, SQLException {
        String sql = text(in);
        PreparedStatement statement = prepared.remove(sql);
        boolean done = false;
        if (statement == null)
            statement = connection.prepareStatement(sql);
        try {
            int n = in.readByte();
            for (int i = 1; i <= n; i++)
                bind(statement, i, in);
            running = statement;
            boolean rows = statement.execute();
            out.writeLong(rows ? 0 : Math.max(statement.getUpdateCount(), 0));
            if (rows)
                rows(statement, out);
            done = true;
        } finally {
            running = null;
            if (!done)
                close(statement);
        }
        prepared.put(sql, statement);
    }

    /* A NULL has its column's type, because PostgreSQL's driver refuses any other. */
    private void bind(PreparedStatement statement, int i, DataInputStream in)
            throws IOException, SQLException {
        switch (in.readByte()) {
        case 'i': statement.setLong(i, in.readLong()); break;
        case 't': bindText(statement, i, text(in)); break;
        case 'I': statement.setNull(i, Types.BIGINT); break;
        default: statement.setNull(i, Types.VARCHAR); break;
        }
    }

    /* SQL Server's driver sends VARCHAR (session.c), so that a key's index is used. */
    private void bindText(PreparedStatement statement, int i, String text) throws SQLException {
        boolean ascii = true;
        for (int at = 0; at < text.length(); at++)
            ascii &= text.charAt(at) < 128;
        if (ascii || !national)
            statement.setString(i, text);
        else
            statement.setNString(i, text);
    }

    private void rows(Statement statement, DataOutputStream out) throws IOException, SQLException {
        ResultSet rows = statement.getResultSet();
        ResultSetMetaData columns = rows.getMetaData();
        int n = columns.getColumnCount();
        out.writeInt(n);
        while (rows.next())
            for (int i = 1; i <= n; i++)
                column(rows, i, columns.getColumnType(i), out);
        rows.close();
    }

    private static void column(ResultSet rows, int i, int type, DataOutputStream out)
            throws IOException, SQLException {
        boolean whole = type == Types.BIGINT || type == Types.INTEGER || type == Types.SMALLINT
                || type == Types.TINYINT;
        boolean truth = type == Types.BIT || type == Types.BOOLEAN;
        long number = whole ? rows.getLong(i) : truth && rows.getBoolean(i) ? 1 : 0;
        String text = whole || truth ? "" : rows.getString(i);
        if (rows.wasNull()) {
            out.writeByte('0');
        } else if (whole || truth) {
            out.writeByte('i');
            out.writeLong(number);
        } else {
            out.writeByte('t');
            text(out, text);
        }
    }

    private void script(String sql) throws SQLException {
        Statement statement = connection.createStatement();
        running = statement;
        try {
            statement.execute(sql);
        } finally {
            running = null;
            close(statement);
        }
    }

    /* The SQLSTATE is that of the first cause that has one. */
    private static byte[] failed(char how, Throwable failure) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        String state = null;
        int number = 0;
        for (Throwable cause = failure; cause != null && state == null; cause = cause.getCause())
            if (cause instanceof SQLException) {
                state = ((SQLException) cause).getSQLState();
                number = ((SQLException) cause).getErrorCode();
            }
        boolean known = failure instanceof SQLException && failure.getMessage() != null;
        out.writeByte(how);
        text(out, state == null ? "" : state);
        out.writeInt(number);
        text(out, known ? failure.getMessage() : failure.toString());
        return bytes.toByteArray();
    }

    private static void close(AutoCloseable what) {
        try {
            if (what != null)
                what.close();
        } catch (Throwable failure) {
            /* it is unusable already */
        }
    }

    private static String text(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static void text(DataOutputStream out, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
