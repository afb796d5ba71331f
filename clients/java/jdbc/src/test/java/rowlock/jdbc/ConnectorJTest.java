// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;

/** MySQL Connector/J. */
@DisabledIfEnvironmentVariable(named = "ROWLOCK_TEST_URL", matches = "postgresql:.*")
class ConnectorJTest extends Scenarios {
  @Override
  Connection open() throws SQLException {
    return DriverManager.getConnection(Server.jdbcUrl(Server.URL, "mysql"));
  }

  @Test
  void aNameIsTheSameInAnotherCharacterSet() throws SQLException {
    String name = "\ud83d\udd12";
    String url = Server.jdbcUrl(Server.URL, "mysql") + "&characterEncoding=latin1";
    try (Lease held = Rowlock.lease(url, name).acquire();
        Connection connection = transaction()) {
      held.check();
      assertThrows(BusyException.class, () -> Rowlock.lock(connection, name, NONE));
      assertThrows(BusyException.class, lease(name).waitAtMost(NONE)::acquire);
    }
  }
}
