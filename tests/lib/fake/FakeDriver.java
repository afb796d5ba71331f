/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JDBC driver without a database, for jdbc:sqlserver: URLs. Prints each statement, and each
 * change of autocommit, to the file of the system property fake.log. It reports the product
 * fake.product, or else SQL Server; jdbc:wrapper: URLs are also its own. It refuses a URL with the
 * word "refused", which its message repeats.
 */
import java.io.FileWriter;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Properties;
import java.util.logging.Logger;

public final class FakeDriver implements Driver, InvocationHandler {
    static {
        try {
            DriverManager.registerDriver(new FakeDriver());
        } catch (SQLException failure) {
            throw new IllegalStateException(failure);
        }
    }

    public Object invoke(Object self, Method method, Object[] arguments) throws IOException {
        Class<?> type = method.getReturnType();
        String name = method.getName();
        if (name.equals("execute") && arguments != null || name.equals("setAutoCommit"))
            note(name + " " + arguments[0]);
        if (name.equals("getDatabaseProductName"))
            return System.getProperty("fake.product", "Microsoft SQL Server");
        if (type == DatabaseMetaData.class || type == PreparedStatement.class)
            return make(type);
        if (name.equals("createStatement"))
            return make(PreparedStatement.class);
        if (type == boolean.class)
            return name.equals("isValid");
        return type == int.class ? (Object) 0 : null;
    }

    private static void note(String line) throws IOException {
        try (FileWriter out = new FileWriter(System.getProperty("fake.log"), true)) {
            out.write(line + "\n");
        }
    }

    private Object make(Class<?> type) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this);
    }

    public Connection connect(String url, Properties properties) throws SQLException {
        if (url.contains("refused"))
            throw new SQLException("cannot connect to " + url);
        return (Connection) make(Connection.class);
    }

    public boolean acceptsURL(String url) {
        return url.startsWith("jdbc:sqlserver:") || url.startsWith("jdbc:wrapper:");
    }

    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
        return new DriverPropertyInfo[0];
    }

    public int getMajorVersion() {
        return 1;
    }

    public int getMinorVersion() {
        return 0;
    }

    public boolean jdbcCompliant() {
        return false;
    }

    public Logger getParentLogger() {
        return null;
    }
}
