// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import rowlock.jdbc.fake.FakeDatabase;

/** In the database of the tests, where rowlock is installed again after each. */
class InstallTest {
  private static final String META = Server.POSTGRESQL ? "rowlock.meta" : "rowlock_meta";

  @BeforeEach
  void uninstall() {
    Server.command("schema", "uninstall", "--force");
  }

  @AfterEach
  void installAgain() {
    uninstall();
    Rowlock.install(Server::connect);
  }

  private static HikariDataSource pool() {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(Server.jdbcUrl(Server.URL));
    config.setMaximumPoolSize(1);
    return new HikariDataSource(config);
  }

  private static void leases() {
    Rowlock.lease(Server::connect, "x").waitAtMost(Duration.ZERO).acquire().close();
  }

  private static void verify() {
    try (HikariDataSource pool = pool()) {
      Rowlock.verify(pool);
    }
  }

  private static void execute(String... statements) throws SQLException {
    try (Connection connection = Server.connect();
        Statement statement = connection.createStatement()) {
      for (String each : statements) {
        statement.execute(each);
      }
    }
  }

  private static String ask(Connection connection, String query) throws SQLException {
    return String.valueOf(Engine.run(connection, query).get(0));
  }

  @Test
  void onceByEachDriverAndLeasesWork() {
    assertThrows(NotInstalledException.class, InstallTest::verify);
    NotInstalledException none = assertThrows(NotInstalledException.class, InstallTest::leases);
    assertTrue(none.getMessage().contains("call Rowlock.install"), none.getMessage());
    assertTrue(Rowlock.install(Server::connect));
    leases();
    try (HikariDataSource pool = pool()) {
      assertFalse(Rowlock.install(pool));
      Rowlock.verify(pool);
      uninstall();
      assertTrue(Rowlock.install(pool));
      leases();
    }
    if (!Server.POSTGRESQL) {
      String url = Server.jdbcUrl(Server.URL, "mysql"); // of MySQL Connector/J
      assertFalse(Rowlock.install(() -> DriverManager.getConnection(url)));
      uninstall();
      assertTrue(Rowlock.install(() -> DriverManager.getConnection(url)));
      leases();
    }
    String said = Server.command("schema", "install"); // of the default technique, and complete
    String technique = Server.POSTGRESQL ? "native" : "row";
    assertTrue(said.matches("(?s).*installed already.*technique " + technique + "\n"), said);
  }

  @Test
  void ofTwoAtOnceOneInstalls() throws Exception {
    try (Connection holder = Server.connect();
        Connection watch = Server.connect()) {
      String lock = "SELECT pg_advisory_lock(8246125620394091379)"; // as sql/*/install_lock.sql
      String waiting =
          "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE NOT granted"
              + " AND locktype = 'advisory' AND datname = current_database()";
      if (!Server.POSTGRESQL) {
        boolean isMysql = !ask(watch, "SELECT VERSION()").contains("MariaDB");
        String name = isMysql ? "LEFT(SHA2(DATABASE(), 256), 32)" : "MD5(DATABASE())";
        lock = "SELECT GET_LOCK(CONCAT('rowlock:', " + name + "), 60)";
        waiting =
            "SELECT count(*) FROM information_schema.processlist"
                + " WHERE db = DATABASE() AND state = 'User lock'";
      }
      ask(holder, lock);
      List<CompletableFuture<Boolean>> both =
          List.of(
              CompletableFuture.supplyAsync(() -> Rowlock.install(Server::connect)),
              CompletableFuture.supplyAsync(() -> Rowlock.install(Server::connect)));
      String count = waiting;
      Server.until(
          () -> {
            assertTrue(both.stream().noneMatch(CompletableFuture::isDone));
            return ask(watch, count).equals("2");
          });
      String unlock = Server.POSTGRESQL ? "pg_advisory_unlock_all()" : "RELEASE_ALL_LOCKS()";
      ask(holder, "SELECT " + unlock);
      Set<Boolean> results = new HashSet<>(List.of(both.get(0).get(), both.get(1).get()));
      assertEquals(Set.of(true, false), results);
    }
    leases();
  }

  @Test
  void theNextVersionIsAcceptedAndAnyOtherRefused() throws Exception {
    Rowlock.install(Server::connect);
    execute("UPDATE " + META + " SET version = version + 1");
    assertFalse(Rowlock.install(Server::connect));
    verify();
    for (String[] other :
        new String[][] {
          {"-1", ".*is version -1, this package works with [1-9] to [1-9]; run: rowlock schema.*"},
          {"99", ".*is version 99, this package works with [1-9] to [1-9]; use a newer package.*"}
        }) {
      execute("UPDATE " + META + " SET version = " + other[0]);
      RowlockException error =
          assertThrows(RowlockException.class, () -> Rowlock.install(Server::connect));
      assertTrue(error.getMessage().matches(other[1]), error.getMessage());
      error = assertThrows(RowlockException.class, InstallTest::verify);
      assertTrue(error.getMessage().matches(other[1]), error.getMessage());
    }
  }

  @Test
  void anInterruptedInstallIsCompleted() throws Exception {
    Assumptions.assumeFalse(Server.POSTGRESQL, "there it is one transaction");
    Rowlock.install(Server::connect);
    execute("UPDATE rowlock_meta SET version = 0", "DROP PROCEDURE rowlock_request_row");
    assertThrows(NotInstalledException.class, InstallTest::verify);
    assertTrue(Rowlock.install(Server::connect));
    leases();
  }

  /** A view, or a table without transactions, is in the way. */
  @Test
  void aFailedInstallLeavesItsPoolNothing() throws Exception {
    String settings =
        Server.POSTGRESQL ? "SELECT current_setting('client_min_messages')" : "SELECT @@sql_mode";
    execute(
        Server.POSTGRESQL
            ? "CREATE SCHEMA rowlock CREATE VIEW job AS SELECT 1 AS one"
            : "CREATE TABLE rowlock_number (a INT) ENGINE = MyISAM");
    try (HikariDataSource pool = pool()) {
      assertThrows(RowlockException.class, () -> Rowlock.install(pool));
      try (Connection lent = pool.getConnection();
          Connection own = Server.connect()) {
        assertEquals(ask(own, settings), ask(lent, settings));
      }
    } finally {
      execute(Server.POSTGRESQL ? "DROP SCHEMA rowlock CASCADE" : "DROP TABLE rowlock_number");
    }
    assertTrue(Rowlock.install(Server::connect));
    leases();
  }

  private static String printed(String... arguments) {
    PrintStream before = System.out;
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
    try {
      assertEquals(0, Install.run(arguments));
    } finally {
      System.setOut(before);
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void theTextIsThatOfTheCommand() {
    for (String dialect : List.of("postgresql", "mariadb", "mysql")) {
      String expected = Server.command("schema", "print", dialect, "--role", "shop");
      assertEquals(expected, printed("--print", dialect, "shop"));
      String bare = Rowlock.schema(dialect);
      assertFalse(bare.matches("(?s).*\n *GRANT .*"));
      assertTrue(bare.length() > 100_000);
    }
    assertTrue(Rowlock.schema("mysql", "shop@%").contains("TO 'shop'@'%'"));
    for (String wrong : List.of("x; DROP", "", "x@y")) {
      assertThrows(IllegalArgumentException.class, () -> Rowlock.schema("postgresql", wrong));
    }
    assertThrows(IllegalArgumentException.class, () -> Rowlock.schema("oracle"));
  }

  @Test
  void theProgramInstalls() {
    String url = Server.jdbcUrl(Server.URL);
    assertEquals("rowlock is installed" + System.lineSeparator(), printed(url));
    assertEquals("rowlock is installed already" + System.lineSeparator(), printed(url));
  }

  @Test
  void aFakeNeedsNone() {
    assertFalse(Rowlock.install(new FakeDatabase().pool()));
    Rowlock.verify(new FakeDatabase().pool());
  }
}
