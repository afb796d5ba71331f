// SPDX-License-Identifier: Apache-2.0
package rowlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import rowlock.jdbc.Rowlock;

/** ShedLock's own tests, on a real server: ROWLOCK_TEST_JDBC. */
class RowlockLockProviderTest extends AbstractExtensibleLockProviderIntegrationTest {
  private static HikariDataSource pool;

  @BeforeAll
  static void openPool() {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(System.getenv("ROWLOCK_TEST_JDBC"));
    pool = new HikariDataSource(config);
  }

  @AfterAll
  static void closePool() {
    pool.close();
  }

  @Override
  protected ExtensibleLockProvider getLockProvider() {
    return new RowlockLockProvider(pool);
  }

  @Override
  protected void assertUnlocked(String name) {
    assertTrue(Rowlock.lease(pool, name).tryFixed().orElseThrow().release());
  }

  @Override
  protected void assertLocked(String name) {
    assertTrue(Rowlock.lease(pool, name).tryFixed().isEmpty());
  }

  @Override
  protected void doTestTimeout(Duration lockAtMostFor) throws InterruptedException {
    super.doTestTimeout(Duration.ofSeconds(1)); // the shortest that a lease has
  }
}
