// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;

/** MySQL Connector/J. */
@DisabledIfEnvironmentVariable(named = "ROWLOCK_TEST_URL", matches = "postgresql:.*")
class ConnectorJJobsTest extends JobScenarios {
  @Override
  Connection open() throws SQLException {
    return DriverManager.getConnection(Server.jdbcUrl(Server.URL, "mysql"));
  }
}
