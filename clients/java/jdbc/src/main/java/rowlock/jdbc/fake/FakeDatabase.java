// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc.fake;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;

/**
 * A database for tests, in this process: its pool is passed to the calls of {@link
 * rowlock.jdbc.Rowlock}, and has the same leases, queue, locks, counters, refreshes and jobs as a
 * server. Without a pool of your own it executes no other SQL.
 */
public final class FakeDatabase {
  private static final Pattern CALL = Pattern.compile("rowlock\\.(\\w+)\\(");

  private final FakeNames names = new FakeNames();
  private final DataSource inner; // null: none

  /** A database with the functions of rowlock alone. */
  public FakeDatabase() {
    this(null);
  }

  /** Sends all other SQL to that pool, such as one of an embedded database. */
  public FakeDatabase(DataSource inner) {
    this.inner = inner;
  }

  /** Returns the pool for the program that is tested. */
  public DataSource pool() {
    return stub(
        DataSource.class,
        (method, values) ->
            switch (method.getName()) {
              case "getConnection" -> connect(inner == null ? null : inner.getConnection());
              default -> pass(method, inner, values);
            });
  }

  /** Another program holds the name, until free(): a request for it waits, or is refused. */
  public void hold(String name, String program) {
    names.hold(name, program);
  }

  /** Ends all leases of the name at once, without notice. */
  public void free(String name) {
    names.free(name);
  }

  /** Breaks the leases of the name: their holders learn of it by the next renewal or fence. */
  public void breakLease(String name, String by) {
    names.breakLease(name, by);
  }

  /** Makes the job due once more. Each job is due once by itself, whatever its schedule. */
  public void makeDue(String job) {
    names.makeDue(job);
  }

  /** Returns the runs that have ended, in this order. */
  public List<EndedRun> runs() {
    return names.runs();
  }

  /**
   * A run that has ended.
   *
   * @param job the name of the job
   * @param outcome "done", "failed", "timed out", "lost" or "not started"
   * @param output its notes, and the text of its exception
   */
  public record EndedRun(String job, String outcome, String output) {}

  /** Tells whether a lease or a transaction has the name. */
  public boolean isHeld(String name) {
    return names.isHeld(name);
  }

  // ---- JDBC

  private interface Handler {
    Object handle(Method method, Object[] values) throws Throwable;
  }

  private static <T> T stub(Class<T> type, Handler handler) {
    return type.cast(
        Proxy.newProxyInstance(
            FakeDatabase.class.getClassLoader(),
            new Class<?>[] {type},
            (self, method, values) ->
                switch (method.getName()) {
                  case "equals" -> self == values[0];
                  case "hashCode" -> System.identityHashCode(self);
                  case "toString" -> "fake " + type.getSimpleName();
                  default -> handler.handle(method, values);
                }));
  }

  /** What the inner object answers; without one nothing. */
  private static Object pass(Method method, Object inner, Object[] values) throws Throwable {
    try {
      Class<?> type = method.getReturnType();
      if (inner != null) {
        return method.invoke(inner, values);
      }
      return type == boolean.class ? Boolean.FALSE : type == int.class ? (Object) 0 : null;
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  private Connection connect(Connection real) {
    FakeNames.Transaction transaction = names.new Transaction();
    boolean[] automatic = {true};
    return stub(
        Connection.class,
        (method, values) -> {
          switch (method.getName()) {
            case "getMetaData":
              return stub(
                  DatabaseMetaData.class,
                  (asked, none) ->
                      asked.getName().equals("getDatabaseProductName")
                          ? "PostgreSQL"
                          : pass(asked, real == null ? null : real.getMetaData(), none));
            case "prepareStatement":
              String sql = values[0].toString();
              Matcher call = CALL.matcher(sql);
              if (call.find()) {
                return statement(transaction, automatic, call.group(1));
              } else if (sql.contains("pg_backend_pid")) {
                return statement(transaction, automatic, "introduce");
              } else if (sql.contains("pg_catalog.version()")) {
                return statement(transaction, automatic, "server");
              } else if (real == null) {
                throw new SQLException("the fake database executes no other SQL", "0A000");
              }
              return real.prepareStatement(sql);
            case "getAutoCommit":
              return automatic[0];
            case "setAutoCommit":
              automatic[0] = (Boolean) values[0];
              break;
            case "unwrap":
              throw new SQLException("a fake wraps nothing", "0A000");
            case "rollback", "close", "abort":
              if (values == null || method.getName().equals("abort")) { // else to a savepoint
                transaction.end(false);
              }
              break;
            case "commit":
              transaction.end(true);
              break;
            default:
          }
          return pass(method, real, values);
        });
  }

  private static PreparedStatement statement(
      FakeNames.Transaction transaction, boolean[] automatic, String function) {
    Map<Integer, Object> values = new TreeMap<>();
    List<Object> row = new ArrayList<>();
    return stub(
        PreparedStatement.class,
        (method, arguments) -> {
          switch (method.getName()) {
            case "setObject":
              values.put((Integer) arguments[0], arguments[1]);
              return null;
            case "execute":
              Object[] answer = transaction.call(function, values.values().toArray());
              row.clear();
              row.addAll(Arrays.asList(answer));
              if (automatic[0]) {
                transaction.end(true);
              }
              return true;
            case "getResultSet":
              return result(row);
            case "unwrap":
              throw new SQLException("a fake wraps nothing", "0A000");
            default:
              return pass(method, null, arguments);
          }
        });
  }

  private static ResultSet result(List<Object> row) {
    boolean[] read = {row.isEmpty()};
    return stub(
        ResultSet.class,
        (method, values) -> {
          switch (method.getName()) {
            case "next":
              boolean first = !read[0];
              read[0] = true;
              return first;
            case "getMetaData":
              return stub(ResultSetMetaData.class, (asked, none) -> row.size());
            case "getObject":
              return row.get((Integer) values[0] - 1);
            default:
              return pass(method, null, values);
          }
        });
  }
}
