// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The same drivers through HikariCP. */
class PooledJobsTest extends JobScenarios {
  private static HikariDataSource pool;

  @BeforeAll
  static void openPool() {
    pool = PooledTest.newPool();
  }

  @AfterAll
  static void closePool() {
    pool.close();
  }

  @Override
  Connection open() throws SQLException {
    return pool.getConnection();
  }

  @Override
  Jobs jobs() {
    return Jobs.on(pool);
  }
}
