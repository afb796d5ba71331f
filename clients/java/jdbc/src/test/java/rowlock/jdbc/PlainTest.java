// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;

/** PgJDBC, and MariaDB Connector/J. */
class PlainTest extends Scenarios {
  @Override
  Connection open() throws SQLException {
    return Server.connect();
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
