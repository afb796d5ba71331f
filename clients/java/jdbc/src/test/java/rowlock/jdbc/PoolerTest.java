// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static rowlock.jdbc.Server.until;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Through PgBouncer with few sessions, in transaction mode: ROWLOCK_TEST_POOLER is its URL. */
@Timeout(300)
@EnabledIfEnvironmentVariable(named = "ROWLOCK_TEST_POOLER", matches = ".+")
class PoolerTest {
  private final String url = Server.jdbcUrl(System.getenv("ROWLOCK_TEST_POOLER"));

  @Test
  void theSessionIsNotTakenForOurOwn() throws Exception {
    Link link = new Link(Source.own(() -> DriverManager.getConnection(url)));
    link.prepare();
    assertFalse(link.waits());
    link.close(false);
  }

  /** It opens new sessions, which have what the database has now. */
  private void alterDatabase(String change) throws Exception {
    String admin = Server.jdbcUrl(System.getenv("ROWLOCK_TEST_ADMIN"));
    try (Connection direct = DriverManager.getConnection(admin)) {
      Engine.run(direct, "ALTER DATABASE " + direct.getCatalog() + " " + change);
      Engine.run(
          direct,
          "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
              + " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    }
    until(this::answers); // a login may meet a session that ends
  }

  private boolean answers() {
    try (Connection session = DriverManager.getConnection(url)) {
      return session.isValid(0);
    } catch (SQLException error) {
      return false;
    }
  }

  @Test
  void theIsolationOfTheDatabaseDoesNotMatterAndStays() throws Exception {
    alterDatabase("SET default_transaction_isolation = 'serializable'");
    try {
      for (int i = 0; i < 5; i++) {
        List<Connection> busy = new ArrayList<>(); // so that the statements get several sessions
        try (Lease held = Rowlock.lease(url, "own").acquire();
            Lease borrowed =
                Rowlock.lease(
                        Server.pool(() -> DriverManager.getConnection(url), closed -> {}),
                        "borrowed " + i)
                    .acquire()) {
          for (int j = 0; j < 4; j++) {
            Connection one = DriverManager.getConnection(url);
            one.setAutoCommit(false);
            busy.add(one);
            String shown = "SELECT current_setting('default_transaction_isolation')";
            assertEquals("serializable", Engine.run(one, shown).get(0));
          }
          held.check();
          borrowed.check();
        }
        for (Connection one : busy) {
          one.close();
        }
      }
    } finally {
      alterDatabase("RESET default_transaction_isolation");
    }
  }

  @Test
  void waitersLeaveItsSessionsToOthers() throws Exception {
    AtomicInteger acquired = new AtomicInteger();
    List<Thread> waiters = new ArrayList<>();
    try (Lease held = Rowlock.lease(url, "pooler").ttl(Duration.ofSeconds(10)).acquire()) {
      for (int i = 0; i < 20; i++) {
        Thread waiter =
            new Thread(
                () -> {
                  try (Lease mine = Rowlock.lease(url, "pooler").acquire()) {
                    mine.check();
                    acquired.incrementAndGet();
                  }
                });
        waiters.add(waiter);
        waiter.start();
      }
      until(() -> Server.command("ls", "pooler").split("waiting", -1).length > 20);
      Duration first = held.remaining();
      until(() -> held.remaining().compareTo(first) > 0); // it is renewed
      for (int i = 0; i < 20; i++) {
        try (Connection connection = DriverManager.getConnection(url)) {
          assertEquals("1", Engine.run(connection, "SELECT '1'").get(0));
        }
      }
      held.check();
    }
    for (Thread waiter : waiters) {
      waiter.join();
    }
    assertEquals(20, acquired.get());
  }
}
