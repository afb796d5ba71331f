// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** What differs between the engines: the statements, and what their errors mean. */
record Engine(
    String request, // name, ttl_ms, owner, wait_ms, mode, limit, host, pid, program, note
    String renew, // token, ttl_ms
    String cancel, // name, owner
    String release, // token
    String fence, // name, token
    String next, // counter
    String refresh, // name, max_age_ms, wait_ms, host, pid, program
    String refreshed, // name, version
    String holder) { // name
  static final Engine POSTGRESQL =
      new Engine(
          """
          SELECT token, ticket, place, holder FROM rowlock.request(?::text,
              ?::bigint * interval '1 ms', ?::text, ?::bigint * interval '1 ms', ?::text,
              ?::integer, ?::text, ?::bigint, ?::text, ?::text)\
          """,
          "SELECT rowlock.renew(?::bigint, ?::bigint * interval '1 ms')",
          "SELECT rowlock.cancel(?::text, ?::text)",
          "SELECT rowlock.release(?::bigint)",
          "SELECT rowlock.fence(?::text, ?::bigint)",
          "SELECT rowlock.next(?::text)",
          """
          SELECT rowlock.refresh(?::text, ?::bigint * interval '1 ms',
              ?::bigint * interval '1 ms', ?::text, ?::bigint, ?::text)\
          """,
          "SELECT rowlock.refreshed(?::text, ?::bigint)",
          "SELECT rowlock.holder(?::text)");
  static final Engine MARIADB =
      new Engine(
          "CALL rowlock_request_row(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          "CALL rowlock_renew(?, ?)",
          "CALL rowlock_cancel(?, ?, @rowlock_canceled)", // which nobody reads
          "CALL rowlock_release(?, @rowlock_answer)",
          "CALL rowlock_fence(?, ?)",
          "CALL rowlock_next(?, @rowlock_answer)",
          "CALL rowlock_refresh(?, ?, ?, ?, ?, ?, @rowlock_answer)",
          "CALL rowlock_refreshed(?, ?)",
          "CALL rowlock_describe_holder(?, @rowlock_answer)");

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

  /** Executes a statement, and returns its first row, or a procedure's answer; or nothing. */
  static List<Object> run(Connection connection, String statement, Object... values)
      throws SQLException {
    try (PreparedStatement prepared = connection.prepareStatement(statement)) {
      for (int i = 0; i < values.length; i++) {
        prepared.setObject(i + 1, values[i]);
      }
      if (!prepared.execute()) {
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

  /** Of boolean and TINYINT. */
  static boolean isTrue(Object answer) {
    return answer instanceof Number number ? number.longValue() != 0 : Boolean.TRUE.equals(answer);
  }

  private static final Set<String> GONE =
      Set.of("57P01", "57P02", "57P03", "25P03", "25P04", "53300");
  private static final Set<String> MISSING = Set.of("42883", "3F000", "42P01");

  /** Whether the session is gone, or never was: the statement may have been executed. */
  static boolean isConnection(SQLException error) {
    String state = error.getSQLState() == null ? "" : error.getSQLState();
    int code = error.getErrorCode();
    if (state.equals("08001") && error.getMessage().startsWith("No suitable driver")
        || state.equals("08004") && code != 1040) { // the server refuses this account
      return false;
    }
    return state.startsWith("08")
        || GONE.contains(state)
        || Set.of(1040, 1053, 1927).contains(code) // of MariaDB: full, shutdown, killed
        || error instanceof SQLTransientConnectionException; // of a pool
  }

  /** The exception of this package that a driver's error means. */
  static RowlockException meaning(SQLException error, String name) {
    String state = error.getSQLState() == null ? "" : error.getSQLState();
    int code = error.getErrorCode();
    if (state.equals("RL005")) {
      return new LostException(name, error);
    }
    if (state.equals("55P03") || code == 1205) {
      String[] parts = String.valueOf(error.getMessage()).split("held by ", 2);
      return new BusyException(name, parts.length > 1 ? parts[1].split("\n")[0] : null, error);
    }
    if (MISSING.contains(state) || code == 1305) {
      return new NotInstalledException(error);
    }
    return isConnection(error)
        ? new UnavailableException(error)
        : new RowlockException(error.getMessage(), error);
  }
}
