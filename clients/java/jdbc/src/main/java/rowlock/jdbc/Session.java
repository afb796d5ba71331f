// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

/** A connection that is opened when it is needed, and again after it was lost. */
final class Session implements AutoCloseable {
  static final Logger LOG = System.getLogger("rowlock");

  private final ConnectionSource source;
  private final String name;
  private Connection connection;
  private Engine engine;
  // the connection may belong to a pool: it goes back as it came
  private boolean autoCommit;
  private int isolation;
  private int networkTimeout;

  Session(ConnectionSource source, String name) {
    this.source = source;
    this.name = name;
  }

  /** Executes one statement, and returns its row. UnavailableException: it may be executed. */
  List<Object> call(Function<Engine, String> statement, Duration limit, Object... values) {
    try {
      if (connection == null) {
        open();
      }
      connection.setNetworkTimeout(Runnable::run, (int) limit.toMillis());
      return Engine.run(connection, statement.apply(engine), values);
    } catch (SQLException error) {
      if (Engine.isConnection(error)) {
        discard(connection);
      }
      throw Engine.meaning(error, name);
    }
  }

  private void open() throws SQLException {
    Connection opened = source.open();
    try {
      engine = Engine.of(opened);
      networkTimeout = opened.getNetworkTimeout();
      autoCommit = opened.getAutoCommit();
      if (!autoCommit) {
        opened.setAutoCommit(true);
      }
      isolation = Connection.TRANSACTION_READ_COMMITTED;
      if (engine == Engine.MARIADB) { // whose procedures set this level
        isolation = opened.getTransactionIsolation();
        opened.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      }
      connection = opened;
    } finally {
      if (connection == null) {
        discard(opened);
      }
    }
  }

  @Override
  public void close() {
    try {
      if (connection != null) {
        if (isolation != Connection.TRANSACTION_READ_COMMITTED) {
          connection.setTransactionIsolation(isolation);
        }
        if (!autoCommit) {
          connection.setAutoCommit(false);
        }
        connection.setNetworkTimeout(Runnable::run, networkTimeout);
      }
    } catch (SQLException error) {
      LOG.log(Level.DEBUG, "closing: {0}", error);
    }
    discard(connection);
  }

  private void discard(Connection old) {
    connection = null;
    try {
      if (old != null) {
        old.close();
      }
    } catch (SQLException error) { // it is gone already
      LOG.log(Level.DEBUG, "closing: {0}", error);
    }
  }
}
