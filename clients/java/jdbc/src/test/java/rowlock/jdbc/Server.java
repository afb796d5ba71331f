// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.Callable;
import javax.sql.DataSource;

/** The server of the tests (ROWLOCK_TEST_URL), the command, and connections with faults. */
final class Server {
  static final String URL = System.getenv("ROWLOCK_TEST_URL");
  static final boolean POSTGRESQL = URL.startsWith("postgresql:");

  private Server() {}

  static String jdbcUrl(String url, String scheme) {
    URI uri = URI.create(url);
    String[] account = (uri.getUserInfo() + ":").split(":", -1);
    return "jdbc:%s://%s:%d%s?user=%s&password=%s"
        .formatted(scheme, uri.getHost(), uri.getPort(), uri.getPath(), account[0], account[1]);
  }

  static String jdbcUrl(String url) {
    return jdbcUrl(url, POSTGRESQL ? "postgresql" : "mariadb");
  }

  static Connection connect() throws SQLException {
    return DriverManager.getConnection(jdbcUrl(URL));
  }

  static String command(String... words) {
    try {
      ProcessBuilder builder = new ProcessBuilder(System.getenv("ROWLOCK"), "--db", URL);
      builder.command().addAll(java.util.List.of(words));
      builder.redirectError(ProcessBuilder.Redirect.DISCARD);
      Process process = builder.start();
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  static void until(Callable<Boolean> condition) throws Exception {
    long began = System.nanoTime();
    while (!condition.call()) {
      if (System.nanoTime() - began > 120_000_000_000L) {
        throw new AssertionError("never true");
      }
      Thread.sleep(20);
    }
  }

  static long session(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT " + (POSTGRESQL ? "pg_backend_pid()" : "CONNECTION_ID()"))) {
      row.next();
      return row.getLong(1);
    }
  }

  static void kill(long session) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(
          POSTGRESQL ? "SELECT pg_terminate_backend(" + session + ")" : "KILL " + session);
    }
  }

  /** Whether the server has that session. */
  static boolean lives(long session) throws SQLException {
    String sql =
        POSTGRESQL
            ? "SELECT count(*) FROM pg_stat_activity WHERE pid = ?"
            : "SELECT count(*) FROM information_schema.processlist WHERE id = ?";
    try (Connection connection = connect()) {
      return ((Number) Engine.run(connection, sql, session).get(0)).intValue() == 1;
    }
  }

  /** What happens at a statement that contains a word. */
  interface Fault {
    Object at(Callable<Object> execution) throws Exception;
  }

  static ConnectionSource faulty(ConnectionSource source, String word, Fault fault) {
    return () -> {
      Connection inner = source.open();
      return proxy(
          Connection.class,
          inner,
          (call, name, arguments) -> {
            Object result = call.call();
            if (!name.equals("prepareStatement") || !arguments[0].toString().contains(word)) {
              return result;
            }
            return proxy(
                PreparedStatement.class,
                result,
                (execution, method, values) ->
                    method.equals("execute") ? fault.at(execution) : execution.call());
          });
    };
  }

  /** What a pool does when a connection comes back. */
  interface Check {
    void at(Connection connection) throws SQLException;
  }

  /** A pool that opens and closes connections. */
  static DataSource pool(ConnectionSource source, Check back) {
    return (DataSource)
        Proxy.newProxyInstance(
            Server.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "getConnection" -> checked(source.open(), back);
                  case "hashCode" -> System.identityHashCode(self);
                  case "equals" -> self == arguments[0];
                  default -> null;
                });
  }

  private static Connection checked(Connection inner, Check back) {
    return proxy(
        Connection.class,
        inner,
        (call, name, arguments) -> {
          if (name.equals("close")) {
            back.at(inner);
          }
          return call.call();
        });
  }

  private interface Handler {
    Object handle(Callable<Object> call, String name, Object[] arguments) throws Exception;
  }

  private static <T> T proxy(Class<T> type, Object inner, Handler handler) {
    return type.cast(
        Proxy.newProxyInstance(
            Server.class.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) ->
                handler.handle(
                    () -> {
                      try {
                        return method.invoke(inner, arguments);
                      } catch (InvocationTargetException error) {
                        throw (Exception) error.getCause();
                      }
                    },
                    method.getName(),
                    arguments)));
  }
}
