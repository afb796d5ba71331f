// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** An open connection, set up for the calls of a lease. That of a pool goes back as it came. */
final class Link {
  private final Connection connection;
  private final boolean own;
  private final Deque<Engine.Step> undo = new ArrayDeque<>();
  private Engine engine;
  private boolean waits;
  private boolean unfit; // for others: a script has failed, and left settings or a lock

  Link(Source source) throws SQLException {
    connection = source.connections().open();
    own = source.isOwn();
  }

  Engine engine() {
    return engine;
  }

  /** Whether a call may wait inside the server: the session is our own, and no pooler's. */
  boolean waits() {
    return waits;
  }

  /** Sets an open connection up. What it changes on one of a pool, close() restores. */
  void prepare() throws SQLException {
    engine = Engine.of(connection);
    if (!connection.getAutoCommit()) {
      connection.setAutoCommit(true);
      undo.push(() -> connection.setAutoCommit(false));
    }
    if (connection.isReadOnly()) {
      connection.setReadOnly(false);
      undo.push(() -> connection.setReadOnly(true));
    }
    waits = own && isDirect(Engine.run(connection, engine.introduce()).get(0));
  }

  /** Whether the session that the driver knows is the server's; a pooler invents its number. */
  private boolean isDirect(Object session) {
    try {
      Connection driver = connection.unwrap(Connection.class);
      for (String number : List.of("getBackendPID", "getThreadId", "getServerThreadId", "getId")) {
        try {
          Object known = driver.getClass().getMethod(number).invoke(driver);
          return ((Number) known).longValue() == ((Number) session).longValue();
        } catch (NoSuchMethodException error) {
          continue; // of another driver
        }
      }
    } catch (ReflectiveOperationException | SQLException | RuntimeException error) {
      Session.LOG.log(Level.DEBUG, "the number of the driver's session is unknown", error);
    }
    return false;
  }

  /** Executes a statement in a transaction of its own; MariaDB's procedures begin it themselves. */
  List<Object> run(String statement, Object... values) throws SQLException {
    if (engine == Engine.MARIADB) {
      return Engine.run(connection, statement, values);
    }
    // whatever the defaults of the session are; and a pooler gives it to one session
    String begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ";
    try {
      return Engine.run(connection, begin + statement + "; COMMIT", values);
    } catch (SQLException error) {
      try {
        Engine.run(connection, "ROLLBACK");
      } catch (SQLException second) {
        error.addSuppressed(second);
      }
      throw error;
    }
  }

  /** Ends a lease. It waits for a fence for a second at most, which may be the caller's own. */
  boolean end(String statement, Object... values) throws SQLException {
    if (engine == Engine.MARIADB) {
      undo.push(Engine.limit(Duration.ofSeconds(1), connection));
    }
    return Engine.isTrue(run(statement, values).get(0));
  }

  /** Executes statements that no driver prepares or changes. */
  void script(List<String> statements) throws SQLException {
    unfit = true;
    try (Statement statement = connection.createStatement()) {
      statement.setEscapeProcessing(false); // a brace is data
      for (String each : statements) {
        statement.execute(each);
      }
    }
    unfit = false;
  }

  /** Closes it, or gives it back as it came. A broken one leaves its pool, which sees an error. */
  void close(boolean broken) {
    try (Connection closed = connection) {
      if (broken || unfit || !own && !restore()) {
        closed.abort(Runnable::run);
        closed.createStatement().close();
      }
    } catch (SQLException error) {
      Session.LOG.log(Level.DEBUG, "closing: {0}", error.getMessage());
    }
  }

  private boolean restore() {
    try {
      while (!undo.isEmpty()) {
        undo.pop().close();
      }
      return true;
    } catch (SQLException error) {
      Session.LOG.log(Level.DEBUG, "restoring: {0}", error.getMessage());
      return false;
    }
  }

  /** Ends a statement that is on its way; its thread closes the connection. May block. */
  void abort() {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException error) {
      Session.LOG.log(Level.DEBUG, "aborting: {0}", error.getMessage());
    }
  }
}
