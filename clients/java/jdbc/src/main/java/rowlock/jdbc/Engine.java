// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** What differs between the engines: the statements. */
record Engine(
    String introduce, // names an own session, and answers its number
    String request, // name, ttl_ms, owner, wait_ms, mode, limit, host, pid, program, note
    String renew, // token, ttl_ms
    String cancel, // name, owner
    String release, // token
    String claim, // of a job; its values are in Job
    String finish, // token, outcome, output
    String fence, // name, token
    String next, // counter
    String refresh, // name, max_age_ms, wait_ms, host, pid, program
    String refreshed, // name, version
    String holder, // name; a text
    String holders, // name; the fields of Holder
    String server, // its name and version
    String version) { // of the schema
  static final Engine POSTGRESQL =
      new Engine(
          """
          SELECT pg_catalog.pg_backend_pid(), CASE
              WHEN pg_catalog.current_setting('application_name') IN ('', 'PostgreSQL JDBC Driver')
              THEN pg_catalog.set_config('application_name', 'rowlock/java', false) END\
          """,
          """
          SELECT token, ticket, place, holder, pg_catalog.date_part('epoch', pause) * 1000
              FROM rowlock.request(?::text,
              ?::bigint * interval '1 ms', ?::text, ?::bigint * interval '1 ms', ?::text,
              ?::integer, ?::text, ?::bigint, ?::text, ?::text)\
          """,
          "SELECT rowlock.renew(?::bigint, ?::bigint * interval '1 ms')",
          "SELECT rowlock.cancel(?::text, ?::text)",
          // it waits for a transaction with a fence, which may be the caller's own
          """
          SELECT rowlock.release(?::bigint)
              FROM pg_catalog.set_config('lock_timeout', '1s', true)\
          """,
          """
          SELECT token, (pg_catalog.date_part('epoch', due) * 1000::double precision)::bigint,
              repeats, state, pg_catalog.date_part('epoch', pause) * 1000::double precision, lost,
              former_schedule FROM rowlock.claim(?::text, ?::text, ?::text,
              ?::bigint * interval '1 ms', ?::text, ?::integer, ?::bigint * interval '1 ms',
              ?::text, ?::bigint * interval '1 ms', ?::integer, ?::text, ?::bigint, ?::text,
              ?::text)\
          """,
          "SELECT rowlock.finish(?::bigint, ?::text, ?::text)" // which waits as release does
              + " FROM pg_catalog.set_config('lock_timeout', '1s', true)",
          "SELECT rowlock.fence(?::text, ?::bigint)",
          "SELECT rowlock.next(?::text)",
          """
          SELECT rowlock.refresh(?::text, ?::bigint * interval '1 ms',
              ?::bigint * interval '1 ms', ?::text, ?::bigint, ?::text)\
          """,
          "SELECT rowlock.refreshed(?::text, ?::bigint)",
          "SELECT rowlock.holder(?::text)",
          """
          SELECT kind, pid, host, program, since, expires, note, waiting
              FROM rowlock.holders(?::text) LIMIT 1\
          """,
          "SELECT pg_catalog.version()",
          "SELECT version FROM rowlock.meta");
  static final Engine MARIADB =
      new Engine(
          "SELECT CONNECTION_ID()",
          mariadb("CALL rowlock_request_row(#, ?, #, ?, #, ?, #, ?, #, #)"),
          "CALL rowlock_renew(?, ?)",
          mariadb("CALL rowlock_cancel(#, #, @rowlock_canceled)"), // which nobody reads
          "CALL rowlock_release(?, @rowlock_answer)",
          mariadb("CALL rowlock_claim_row(#, #, #, ?, #, ?, ?, #, ?, ?, #, ?, #, #)"),
          mariadb("CALL rowlock_finish(?, #, #, NULL, @rowlock_answer)"),
          mariadb("CALL rowlock_fence(#, ?)"),
          mariadb("CALL rowlock_next(#, @rowlock_answer)"),
          mariadb("CALL rowlock_refresh(#, ?, ?, #, ?, #, @rowlock_answer)"),
          mariadb("CALL rowlock_refreshed(#, ?)"),
          mariadb("CALL rowlock_describe_holder(#, @rowlock_answer)"),
          mariadb("CALL rowlock_holder(#)"),
          "SELECT VERSION()",
          "SELECT version FROM rowlock_meta WHERE technique <> 'plain'");

  /** A text is sent as digits: so it is the same in each character set and mode of a session. */
  static String mariadb(String statement) {
    return statement.replace("#", "CONVERT(UNHEX(?) USING utf8mb4)");
  }

  static Engine of(Connection connection) throws SQLException {
    String product = connection.getMetaData().getDatabaseProductName();
    return switch (product) {
      case "PostgreSQL" -> POSTGRESQL;
      case "MariaDB", "MySQL" -> MARIADB;
      default ->
          throw new RowlockException(
              product + " has no functions of rowlock: use the command rowlock", null);
    };
  }

  /** On MariaDB a snapshot from before a lock was acquired would hide what its holder wrote. */
  void refuseSnapshot(Connection connection, String name) throws SQLException {
    if (this == MARIADB
        && connection.getTransactionIsolation() != Connection.TRANSACTION_READ_COMMITTED) {
      throw new RowlockException(
          "'%s' needs a transaction at READ COMMITTED, because a snapshot would hide what the"
                  .formatted(name)
              + " previous holder wrote: begin it after"
              + " setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED)",
          null);
    }
  }

  /** What restores a setting. */
  interface Step extends AutoCloseable {
    @Override
    void close() throws SQLException;
  }

  /** Executes a statement that waits for a row of MariaDB at most that long; null: its default. */
  @SuppressWarnings("try") // restored is only closed; a failure then does not hide another error
  static List<Object> runWithin(
      Duration timeout, Connection connection, String statement, Object... values)
      throws SQLException {
    if (timeout == null) {
      return run(connection, statement, values);
    }
    Step restore = limit(timeout, connection);
    try (Step restored = () -> restoreOrAbort(restore, connection)) {
      return run(connection, statement, values);
    }
  }

  /** Limits the waits for a row of MariaDB. */
  static Step limit(Duration timeout, Connection connection) throws SQLException {
    // of whole seconds, up to the server's greatest
    long seconds = Math.min(timeout.plusMillis(999).toSeconds(), 1_000_000_000);
    String limit = "SET @rowlock_wait = @@innodb_lock_wait_timeout, innodb_lock_wait_timeout = ?";
    run(connection, limit, seconds);
    return () -> run(connection, "SET innodb_lock_wait_timeout = @rowlock_wait");
  }

  /** A pool never gets a connection back whose limit is another. */
  private static void restoreOrAbort(Step restore, Connection connection) throws SQLException {
    try {
      restore.close();
    } catch (SQLException error) {
      connection.abort(Runnable::run);
      throw error;
    }
  }

  /** Executes a statement, and returns its first row, or a procedure's answer; or nothing. */
  static List<Object> run(Connection connection, String statement, Object... values)
      throws SQLException {
    try (PreparedStatement prepared = connection.prepareStatement(statement)) {
      neverName(prepared);
      for (int i = 0; i < values.length; i++) {
        boolean digits = values[i] instanceof String && statement.contains("UNHEX(");
        prepared.setObject(i + 1, digits ? digits((String) values[i]) : values[i]);
      }
      boolean answered = prepared.execute();
      while (!answered && prepared.getUpdateCount() != -1) { // of BEGIN
        answered = prepared.getMoreResults();
      }
      if (!answered) {
        boolean answers = statement.contains("@rowlock_answer");
        return answers ? run(connection, "SELECT @rowlock_answer") : List.of();
      }
      try (ResultSet rows = prepared.getResultSet()) {
        Object[] row = new Object[rows.next() ? rows.getMetaData().getColumnCount() : 0];
        for (int i = 0; i < row.length; i++) {
          row[i] = rows.getObject(i + 1);
        }
        return Arrays.asList(row);
      }
    }
  }

  private static String digits(String text) {
    return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
  }

  /** PgJDBC names a statement that it executes often; behind a pooler another session has it. */
  private static void neverName(PreparedStatement prepared) {
    try {
      Statement driver = prepared.unwrap(Statement.class);
      if (driver != null) {
        driver.getClass().getMethod("setPrepareThreshold", int.class).invoke(driver, 0);
      }
    } catch (NoSuchMethodException error) {
      return; // another driver, or a pool that hides its own
    } catch (ReflectiveOperationException | SQLException | RuntimeException error) {
      Session.LOG.log(System.Logger.Level.DEBUG, "the driver names its statements", error);
    }
  }

  /** Of boolean and TINYINT. */
  static boolean isTrue(Object answer) {
    return answer instanceof Number number ? number.longValue() != 0 : Boolean.TRUE.equals(answer);
  }
}
