// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
  void anotherCharacterSetIsRefused() {
    String url = Server.jdbcUrl(Server.URL, "mysql") + "&characterEncoding=latin1";
    LeaseRequest request = Rowlock.lease(url, "\ud83d\udd12");
    RowlockException refused = assertThrows(RowlockException.class, request::acquire);
    assertTrue(refused.getMessage().contains("character set is latin1"), refused.getMessage());
    Rowlock.lease(url, "ascii").acquire().close();
  }
}
