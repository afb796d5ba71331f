// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** PgJDBC, and MariaDB Connector/J. */
class PlainTest extends Scenarios {
  @Override
  Connection open() throws SQLException {
    return Server.connect();
  }

  /** A lease, its renewal and its refusal, and the calls in a transaction. */
  private static void works(String settings) throws Exception {
    String url = Server.jdbcUrl(Server.URL) + settings;
    Duration ttl = Duration.ofSeconds(3);
    try (Lease held = Rowlock.lease(url, "x").ttl(ttl).acquire();
        Connection connection = DriverManager.getConnection(url)) {
      connection.setAutoCommit(false);
      connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      assertThrows(
          BusyException.class, () -> Rowlock.lease(url, "x").waitAtMost(Duration.ZERO).acquire());
      for (int i = 0; i < 8; i++) { // some modes change after five executions
        Rowlock.lock(connection, "number " + i);
        Rowlock.next(connection, "drawn");
        held.fence(connection);
        connection.commit();
      }
      Duration first = held.remaining();
      Server.until(() -> held.remaining().compareTo(first) > 0);
      held.check();
    }
  }

  @Test
  void theModesOfTheDriver() throws Exception {
    for (String settings :
        Server.POSTGRESQL
            ? List.of(
                "&preferQueryMode=simple",
                "&preferQueryMode=extendedForPrepared",
                "&preferQueryMode=extendedCacheEverything",
                "&prepareThreshold=1",
                "&prepareThreshold=-1",
                "&binaryTransfer=false",
                "&options=-c%20default_transaction_isolation=serializable"
                    + "%20-c%20default_transaction_read_only=off",
                "&ApplicationName=mine")
            : List.of(
                "&useServerPrepStmts=true",
                "&sessionVariables=sql_mode='NO_BACKSLASH_ESCAPES'",
                "&sessionVariables=tx_isolation='SERIALIZABLE'",
                "&cachePrepStmts=true&useServerPrepStmts=true",
                "&autocommit=false")) {
      Server.command("next", "drawn");
      works(settings);
    }
  }

  @Test
  void anOwnSessionHasAName() throws Exception {
    Assumptions.assumeTrue(Server.POSTGRESQL, "MariaDB shows no name");
    String query =
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'rowlock/java'";
    try (Lease held = Rowlock.lease(Server.jdbcUrl(Server.URL), "x").acquire();
        Connection connection = open()) {
      assertEquals(true, Engine.run(connection, query).get(0)); // sessions of others may still end
      held.check();
    }
  }

  @Test
  void aDatabaseWithoutTheSchema() {
    String other = Server.POSTGRESQL ? "postgres" : "mysql";
    String url =
        Server.jdbcUrl(System.getenv("ROWLOCK_TEST_ADMIN"))
            .replaceFirst("/[^/?]*[?]", "/" + other + "?");
    assertThrows(
        NotInstalledException.class,
        () -> Rowlock.lease(() -> DriverManager.getConnection(url), "x").acquire());
  }
}
