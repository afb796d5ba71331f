// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The same drivers through HikariCP. */
class PooledTest extends SourceScenarios {
  private static HikariDataSource pool;

  /** A pool that has one connection at first. */
  static HikariDataSource newPool() {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(Server.jdbcUrl(Server.URL));
    config.setMinimumIdle(1);
    return new HikariDataSource(config);
  }

  @BeforeAll
  static void openPool() {
    pool = newPool();
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
  LeaseRequest lease(String name) {
    return Rowlock.lease(pool, name);
  }
}
