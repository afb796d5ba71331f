// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import javax.sql.DataSource;

/**
 * Locks and leases. A lease is a lock that outlives transactions and connections: {@link
 * #lease(DataSource, String)}. The other methods work on the application's own connection, in its
 * transaction; call {@code setAutoCommit(false)} first.
 */
public final class Rowlock {
  private Rowlock() {}

  /**
   * Creates rowlock's tables and functions; returns false if they exist already. The account of the
   * connection becomes their owner, and needs no GRANTs. Any number of programs may install at the
   * same time: it waits for the others, for 5 minutes at most, also in an interrupted thread. A
   * schema of the version before this package's, or of the next one, stays as it is.
   *
   * @throws RowlockException if it is of any other version, or the account may not create it
   * @throws UnavailableException if the database does not answer
   */
  public static boolean install(DataSource pool) {
    return Schema.install(Source.pool(pool));
  }

  /** The same, on connections of its own. */
  public static boolean install(ConnectionSource source) {
    return Schema.install(Source.own(source));
  }

  /**
   * Checks that rowlock's schema is there, and of a version that this package works with: its own,
   * the one before, or the next one. For a health check; it changes nothing. Returns within 10 s.
   *
   * @throws NotInstalledException if there is no schema
   * @throws RowlockException if it is of any other version
   * @throws UnavailableException if the database does not answer
   */
  public static void verify(DataSource pool) {
    Schema.verify(Source.pool(pool));
  }

  /** The text by which install() installs, for an administrator, or a tool such as Flyway. */
  public static String schema(String dialect) {
    return schema(dialect, null);
  }

  /**
   * The same, with the GRANTs for another account that uses rowlock. Does not need a database.
   *
   * @param dialect postgresql, mariadb or mysql
   * @param role its name, on MariaDB and MySQL also USER@HOST; null: no GRANTs
   * @throws IllegalArgumentException if it is none of these
   */
  public static String schema(String dialect, String role) {
    return Schema.text(dialect, role);
  }

  /** Begins a request for a lease, which keeps a connection of its own by that JDBC URL. */
  public static LeaseRequest lease(String url, String name) {
    return lease(() -> DriverManager.getConnection(url), name);
  }

  /** Begins a request for a lease, which opens a connection of its own, and keeps it. */
  public static LeaseRequest lease(ConnectionSource source, String name) {
    return new LeaseRequest(Source.own(source), name);
  }

  /** Begins a request for a lease, which borrows a connection of the pool for each short call. */
  public static LeaseRequest lease(DataSource pool, String name) {
    return new LeaseRequest(Source.pool(pool), name);
  }

  /**
   * Releases all leases of this process that are held, for a shutdown hook: {@code
   * Runtime.getRuntime().addShutdownHook(new Thread(Rowlock::releaseAll))}. Stop the work done
   * under them first. For a body that still runs the lease is lost, which is announced before its
   * release.
   */
  public static void releaseAll() {
    Keeper.closeAll();
  }

  /**
   * Acquires a lease with a ttl of 30 s.
   *
   * @throws BusyException if the name is held or waited for until then
   */
  public static Lease acquire(DataSource source, String name, Duration wait) {
    return lease(source, name).waitAtMost(wait).acquire();
  }

  /**
   * Locks a name until the connection's transaction ends. Waits as long as the server's settings
   * allow.
   *
   * @throws BusyException after such a timeout
   */
  public static void lock(Connection connection, String name) {
    lock(connection, name, "exclusive", null);
  }

  /**
   * Locks a name until the connection's transaction ends.
   *
   * @throws BusyException if the name is not free until then
   */
  public static void lock(Connection connection, String name, Duration timeout) {
    lock(connection, name, "exclusive", timeout);
  }

  /**
   * Locks a name with other shared locks until the connection's transaction ends.
   *
   * @throws BusyException if the name is not free until then
   */
  public static void lockShared(Connection connection, String name, Duration timeout) {
    lock(connection, name, "shared", timeout);
  }

  /**
   * Keeps a lease valid until the connection's transaction ends.
   *
   * @throws LostException if the lease is lost
   */
  public static void fence(Connection connection, String name, long token) {
    call(connection, Arguments.name(name), Engine::fence, name, token);
  }

  /** Draws the next number of a counter, without a gap: a rollback takes it back. */
  public static long next(Connection connection, String counter) {
    String locked = "counter:" + Arguments.shortName(counter);
    Object number = callWithoutSnapshot(connection, locked, Engine::next, counter).get(0);
    return ((Number) number).longValue();
  }

  /** Writes the new data. */
  @FunctionalInterface
  public interface Load<E extends Exception> {
    /**
     * Runs in the transaction of the refresh.
     *
     * @throws E if it fails; then roll back
     */
    void run() throws E;
  }

  /**
   * Loads the data of a name again if it is older than maxAge; null: it is fresh at any age. Of all
   * callers one loads it, in the connection's transaction, and the others wait until its commit.
   * Returns whether the data was loaded. After an exception, also of the load, roll back. Waits as
   * long as the server's settings allow.
   *
   * @throws E if the load throws it
   * @throws BusyException after such a timeout
   * @throws LostException if the load has ended the transaction
   */
  public static <E extends Exception> boolean refresh(
      Connection connection, String name, Duration maxAge, Load<E> load) throws E {
    return refresh(connection, name, maxAge, null, load);
  }

  /**
   * The same, but waits for the others at most that long.
   *
   * @throws E if the load throws it
   * @throws BusyException if others are not ready until then
   * @throws LostException if the load has ended the transaction
   */
  public static <E extends Exception> boolean refresh(
      Connection connection, String name, Duration maxAge, Duration timeout, Load<E> load)
      throws E {
    String locked = "subject:" + Arguments.shortName(name);
    Object[] values = {
      name,
      Arguments.millis(Arguments.limit(maxAge)),
      Arguments.millis(Arguments.limit(timeout)),
      LeaseRequest.HOST,
      LeaseRequest.PID,
      LeaseRequest.PROGRAM
    };
    Object version = callWithoutSnapshot(connection, locked, Engine::refresh, values).get(0);
    if (version == null) {
      return false;
    }
    if (!Engine.isTrue(version)) {
      throw busy(connection, locked);
    }
    load.run();
    try {
      call(connection, locked, Engine::refreshed, name, version);
    } catch (LostException error) {
      throw LostException.ofRefresh(name, error.getCause());
    }
    return true;
  }

  private interface Work<T> {
    T run(Engine engine) throws SQLException;
  }

  private static <T> T inTransaction(Connection connection, String name, Work<T> work) {
    try {
      if (connection.getAutoCommit()) {
        throw new RowlockException(
            "'%s' needs a transaction: call setAutoCommit(false) first".formatted(name), null);
      }
      return work.run(Engine.of(connection));
    } catch (SQLException error) {
      throw Errors.meaning(error, name);
    }
  }

  private static List<Object> call(
      Connection connection, String name, Function<Engine, String> statement, Object... values) {
    return inTransaction(connection, name, e -> Engine.run(connection, statement.apply(e), values));
  }

  private static List<Object> callWithoutSnapshot(
      Connection connection, String name, Function<Engine, String> statement, Object... values) {
    return inTransaction(
        connection,
        name,
        engine -> {
          engine.refuseSnapshot(connection, name);
          return Engine.run(connection, statement.apply(engine), values);
        });
  }

  private static void lock(Connection connection, String name, String mode, Duration timeout) {
    Duration limit = Arguments.limit(timeout);
    Work<Boolean> attempt =
        engine -> {
          engine.refuseSnapshot(connection, name);
          return engine == Engine.POSTGRESQL
              ? lockPostgresql(connection, name, mode, limit)
              : lockMariadb(connection, name, mode, limit);
        };
    try {
      if (!inTransaction(connection, Arguments.name(name), attempt)) {
        throw busy(connection, name);
      }
    } catch (BusyException error) { // of the server
      throw error.holder().isPresent()
          ? error
          : new BusyException(name, error.getHolder(), fields(connection, name), error.getCause());
    }
  }

  private static BusyException busy(Connection connection, String name) {
    Object text = call(connection, name, Engine::holder, name).get(0);
    return new BusyException(name, (String) text, fields(connection, name), null);
  }

  /** The transaction continues, which on PostgreSQL an error would end. */
  private static Holder fields(Connection connection, String name) {
    try {
      Engine engine = Engine.of(connection);
      Savepoint before = engine == Engine.POSTGRESQL ? connection.setSavepoint() : null;
      try {
        return Holder.of(Engine.run(connection, engine.holders(), name));
      } finally {
        if (before != null) {
          connection.rollback(before);
        }
      }
    } catch (SQLException error) {
      Session.LOG.log(Level.DEBUG, "the holder of {0}: {1}", name, error.getMessage());
      return null;
    }
  }

  private static boolean lockPostgresql(
      Connection connection, String name, String mode, Duration timeout) throws SQLException {
    if (timeout == null) {
      Engine.run(connection, "SELECT rowlock." + mode + "(?::text)", name);
      return true;
    }
    String statement = "SELECT rowlock.try_" + mode + "(?::text, ?::bigint * interval '1 ms')";
    return Engine.isTrue(Engine.run(connection, statement, name, Arguments.millis(timeout)).get(0));
  }

  /** Begins a transaction, which gives the name a row, if none is open yet. */
  private static boolean lockMariadb(
      Connection connection, String name, String mode, Duration timeout) throws SQLException {
    String text = Engine.mariadb("(#)");
    try {
      Engine.runWithin(timeout, connection, "CALL rowlock_begin_" + mode + text, name);
    } catch (SQLException error) {
      if (error.getErrorCode() != 30007 && !"RL007".equals(error.getSQLState())) {
        throw error;
      }
      Engine.runWithin(timeout, connection, "CALL rowlock_" + mode + text, name);
    }
    return true;
  }
}
