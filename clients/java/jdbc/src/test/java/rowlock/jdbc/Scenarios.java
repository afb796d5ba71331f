// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static rowlock.jdbc.Server.command;
import static rowlock.jdbc.Server.until;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import rowlock.jdbc.LeaseEvent.Kind;

/** The rest of what the package promises, on a real server, by each driver: see its subclasses. */
abstract class Scenarios extends SourceScenarios {
  @Test
  void aRefusedLeaseNeverRunsTheBody() {
    try (Lease held = lease("x").acquire()) {
      held.check();
      assertThrows(
          BusyException.class,
          () -> {
            try (Lease refused = lease("x").waitAtMost(Duration.ofMillis(500)).acquire()) {
              fail("the body ran with " + refused);
            }
          });
    }
  }

  @Test
  void anErrorOfTheBodyIsNotHidden() {
    IllegalStateException error =
        assertThrows(
            IllegalStateException.class,
            () -> {
              CountDownLatch told = new CountDownLatch(1);
              try (Lease held = lease("x").ttl(SHORT).acquire()) {
                held.onLost(told::countDown);
                command("break", "--now", "x");
                told.await(20, TimeUnit.SECONDS);
                throw new IllegalStateException("of the body");
              }
            });
    assertTrue(error.getSuppressed()[0] instanceof LostException);
  }

  @Test
  void theEndIsAnnouncedInTimeWhileARenewalHangs() throws Exception {
    CountDownLatch told = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    ConnectionSource hanging =
        Server.faulty(
            this::open,
            "renew",
            execution -> {
              over.await();
              return execution.call();
            });
    long before = System.nanoTime();
    Lease held = Rowlock.lease(hanging, "x").ttl(SHORT).acquire();
    held.onLost(told::countDown);
    assertTrue(told.await(60, TimeUnit.SECONDS));
    assertTrue(System.nanoTime() - before < SHORT.toNanos());
    over.countDown();
    assertThrows(LostException.class, held::close);
  }

  @Test
  void aLeaseThatHasEndedIsNeverReturned() {
    AtomicInteger requests = new AtomicInteger();
    ConnectionSource slow =
        afterwards(
            "request",
            () -> {
              if (requests.incrementAndGet() == 1) {
                Thread.sleep(1000);
              }
            });
    Duration shortest = Duration.ofSeconds(1);
    try (Lease held = Rowlock.lease(slow, "x").ttl(shortest).waitAtMost(NONE).acquire()) {
      held.check();
      assertTrue(requests.get() >= 2);
    }
  }

  @Test
  void aLeaseWithoutItsThreadsIsReleased() {
    AtomicInteger threads = new AtomicInteger(Integer.MIN_VALUE);
    InheritableThreadLocal<String> limit =
        new InheritableThreadLocal<>() {
          @Override
          protected String childValue(String parent) { // by the constructor of Thread
            if (threads.incrementAndGet() == 1) {
              throw new OutOfMemoryError("unable to create native thread");
            }
            return parent;
          }
        };
    limit.set("inherited");
    ConnectionSource counted = afterwards("request", () -> threads.set(0));
    try {
      assertThrows(OutOfMemoryError.class, () -> Rowlock.lease(counted, "x").acquire());
    } finally {
      limit.remove();
    }
    assertFalse(command("ls", "x").contains("x"));
  }

  @Test
  void aLostReplyIsRepeatedAndAcquiresOnce() throws Exception {
    AtomicInteger requests = new AtomicInteger();
    AtomicReference<Object> first = new AtomicReference<>();
    ConnectionSource cut =
        afterwards(
            "request",
            () -> {
              if (requests.incrementAndGet() == 1) {
                first.set(command("--json", "ls", "x"));
                throw new SQLException("the connection was cut", "08006");
              }
            });
    try (Lease held = Rowlock.lease(cut, "x").acquire()) {
      held.check();
      assertEquals(2, requests.get());
      String after = command("--json", "ls", "x");
      for (String json : List.of(first.get().toString(), after)) {
        List<String> tokens = tokens(json);
        assertEquals(List.of(String.valueOf(held.getToken())), tokens, json);
      }
    }
  }

  private static List<String> tokens(String json) {
    return Pattern.compile("\"token\" *: *([0-9]+)")
        .matcher(json)
        .results()
        .map(found -> found.group(1))
        .toList();
  }

  @Test
  void aKilledSessionIsReplaced() throws Exception {
    AtomicLong session = new AtomicLong();
    ConnectionSource known =
        () -> {
          Connection connection = open();
          session.set(Server.session(connection));
          return connection;
        };
    try (Lease held = Rowlock.lease(known, "x").ttl(SHORT).acquire()) {
      long first = session.get();
      Server.kill(first);
      until(() -> session.get() != first);
      Thread.sleep(SHORT.toMillis());
      held.check();
    }
  }

  @Test
  void staleDataIsRefreshedOnce() throws Exception {
    command("refresh", "rates", "--max-age", "0s", "--", "true");
    AtomicInteger loads = new AtomicInteger();
    try (Connection one = transaction();
        Connection two = transaction();
        Connection automatic = open()) {
      assertTrue(Rowlock.refresh(one, "rates", NONE, loads::incrementAndGet));
      BusyException busy =
          assertThrows(
              BusyException.class,
              () -> Rowlock.refresh(two, "rates", NONE, NONE, loads::incrementAndGet));
      assertEquals("subject:rates", busy.getName());
      one.commit();
      assertFalse(Rowlock.refresh(two, "rates", Duration.ofMinutes(1), loads::incrementAndGet));
      assertFalse(Rowlock.refresh(two, "rates", null, loads::incrementAndGet));
      two.commit();
      assertEquals(1, loads.get());
      assertThrows(
          RowlockException.class,
          () -> Rowlock.refresh(automatic, "rates", NONE, loads::incrementAndGet));
    }
  }

  @Test
  void anInterruptEndsAWaitWhenTheServerHangs() throws Exception {
    AtomicLong left = new AtomicLong();
    try (Lease held = lease("x").acquire();
        Connection other = transaction()) {
      ConnectionSource blocked =
          Server.faulty(
              this::open,
              "cancel",
              execution -> {
                try (Statement statement = other.createStatement()) {
                  statement.execute(
                      "DELETE FROM " + (Server.POSTGRESQL ? "rowlock.waiter" : "rowlock_waiter"));
                }
                long before = System.nanoTime();
                try {
                  return execution.call();
                } finally {
                  left.set(System.nanoTime() - before);
                }
              });
      Thread waiting =
          new Thread(
              () ->
                  assertThrows(
                      WaitInterruptedException.class, () -> Rowlock.lease(blocked, "x").acquire()));
      waiting.start();
      until(() -> command("ls", "x").contains("waiting"));
      waiting.interrupt();
      long before = System.nanoTime();
      waiting.join();
      long passed = System.nanoTime() - before;
      assertTrue(passed < 15_000_000_000L, () -> passed + " ns"); // 5 s; the machine may be busy
      until(() -> left.get() > 0); // it was given up
      other.rollback();
      held.check();
    }
    until(() -> command("ls").isEmpty());
  }

  @Test
  void aConnectionGoesBackToItsPoolAsItCame() throws Exception {
    List<String> states = new ArrayList<>();
    String read =
        Server.POSTGRESQL
            ? "SELECT current_setting('default_transaction_isolation')"
            : "SELECT @@innodb_lock_wait_timeout";
    DataSource pool =
        Server.pool(
            () -> {
              Connection connection = open();
              connection.setAutoCommit(false);
              connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
              connection.setReadOnly(true);
              connection.commit();
              return connection;
            },
            connection -> {
              states.add(
                  "%s %s %s %s"
                      .formatted(
                          connection.getAutoCommit(),
                          connection.isReadOnly(),
                          connection.getTransactionIsolation(),
                          Engine.run(connection, read)));
              connection.rollback();
              connection.setReadOnly(false);
            });
    try (Lease held = Rowlock.lease(pool, "x").ttl(SHORT).acquire()) {
      assertEquals(1, states.size()); // while the lease is held nothing is borrowed
      until(() -> states.size() > 1);
      held.check();
    }
    assertEquals(3, states.size());
    String before =
        "false true %d [%s]"
            .formatted(
                Connection.TRANSACTION_SERIALIZABLE, Server.POSTGRESQL ? "serializable" : "50");
    assertEquals(List.of(before, before, before), states);
  }

  @Test
  void aConnectionThatCannotBeRestoredIsAborted() {
    Assumptions.assumeFalse(Server.POSTGRESQL, "no setting is changed there");
    List<Boolean> closed = new ArrayList<>();
    ConnectionSource failing =
        Server.faulty(
            this::open,
            "= @rowlock_wait",
            execution -> {
              throw new SQLException("it is refused", "XX000");
            });
    DataSource pool = Server.pool(failing, connection -> closed.add(connection.isClosed()));
    Rowlock.lease(pool, "x").acquire().close();
    assertEquals(List.of(false, true), closed); // the request sets nothing
  }

  @Test
  void aRequestThatIsRepeatedIsAWarning() {
    List<String> warnings = new CopyOnWriteArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord message) {
            warnings.add(message.getLevel() + " " + message.getMessage());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger("rowlock");
    logger.addHandler(handler);
    try {
      Rowlock.lease(cut(new AtomicInteger(), 1), "x").acquire().close();
    } finally {
      logger.removeHandler(handler);
    }
    assertEquals(1, warnings.size());
    assertTrue(warnings.get(0).startsWith("WARNING a request for"), warnings::toString);
  }

  @Test
  void aLostReplyOfALeaseThatNothingRenewsIsRepeated() {
    AtomicInteger executed = new AtomicInteger();
    FixedLease held = Rowlock.lease(cut(executed, 1), "x").tryFixed().orElseThrow();
    assertEquals(2, executed.get());
    assertEquals(List.of(String.valueOf(held.getToken())), tokens(command("--json", "ls", "x")));
    assertTrue(held.release());
  }

  @Test
  void aLeaseThatNothingRenewsIsNotLeftBehind() throws Exception {
    AtomicInteger executed = new AtomicInteger();
    LeaseRequest request = Rowlock.lease(cut(executed, 2), "x");
    assertThrows(UnavailableException.class, request::tryFixed);
    until(() -> !command("ls", "x").contains("x"));
    assertEquals(3, executed.get()); // the last one cancels
    FixedLease held = lease("x").tryFixed().orElseThrow();
    assertTrue(lease("x").tryFixed().isEmpty());
    assertFalse(command("ls", "x").contains("waiting"));
    assertTrue(held.release());
  }

  @Test
  void aRequestThatIsBusyByItselfClosesItsConnection() throws Exception {
    AtomicReference<Connection> opened = new AtomicReference<>();
    ConnectionSource refused =
        Server.faulty(
            () -> {
              opened.set(open());
              return opened.get();
            },
            "request",
            execution -> {
              throw new SQLException("canceling statement due to lock timeout", "55P03");
            });
    assertThrows(BusyException.class, Rowlock.lease(refused, "x")::acquire);
    until(() -> opened.get().isClosed());
  }

  @Test
  void aSessionThatTheServerEndedBecauseItWasIdleIsReplaced() throws Exception {
    AtomicLong session = new AtomicLong();
    ConnectionSource impatient =
        () -> {
          Connection connection = open();
          boolean first = session.getAndSet(Server.session(connection)) == 0;
          Engine.run(
              connection,
              Server.POSTGRESQL && first
                  ? "SET idle_session_timeout = 300"
                  : first ? "SET wait_timeout = 1" : "SELECT 1");
          return connection;
        };
    try (Lease held = Rowlock.lease(impatient, "x").ttl(Duration.ofDays(1)).acquire()) {
      until(() -> !Server.lives(session.get()));
      held.check();
    }
    lease("x").waitAtMost(NONE).acquire().close();
  }

  @Test
  void whatHappensIsTold() {
    List<LeaseEvent> events = new CopyOnWriteArrayList<>();
    try (Lease held = lease("x").onEvent(events::add).acquire()) {
      LeaseRequest second = lease("x").waitAtMost(Duration.ofMillis(300)).onEvent(events::add);
      assertThrows(BusyException.class, second::acquire);
      assertEquals(List.of(Kind.ACQUIRED, Kind.WAITED), kinds(events));
      assertEquals(held.getToken(), events.get(0).token());
      assertTrue(events.get(1).duration().toMillis() >= 300);
      assertTrue(events.get(1).reason().contains("held by"), events.get(1).reason());
    }
    assertEquals(Kind.RELEASED, kinds(events).get(2));
    events.clear();
    assertThrows(
        LostException.class,
        () -> {
          try (Lease held = lease("x").ttl(SHORT).onEvent(events::add).acquire()) {
            command("break", "x");
            until(held::isLost);
          }
        });
    assertEquals(List.of(Kind.ACQUIRED, Kind.LOST), kinds(events));
  }

  private static List<Kind> kinds(List<LeaseEvent> events) {
    return events.stream().map(LeaseEvent::kind).toList();
  }

  @Test
  void aLossHasAReasonAndAReleaseIsNoLoss() {
    Lease held = lease("x").ttl(SHORT).acquire();
    assertTrue(held.toString().startsWith("Lease[x, token " + held.getToken()), held::toString);
    held.close();
    LostException released = assertThrows(LostException.class, held::check);
    assertEquals("the lease of 'x' was released", released.getMessage());
    LostException lost =
        assertThrows(
            LostException.class,
            () -> {
              try (Lease broken = lease("x").ttl(SHORT).acquire()) {
                command("break", "x");
                until(broken::isLost);
              }
            });
    assertTrue(lost.reason().contains("broken"), lost.reason());
    assertTrue(lost.getMessage().contains(lost.reason()), lost.getMessage());
  }

  @Test
  void aLeaseThatIsDroppedExpires() throws Exception {
    Duration ttl = Duration.ofSeconds(2);
    assertTrue(lease("x").ttl(ttl).acquire().getToken() > 0); // and dropped
    until(
        () -> {
          System.gc();
          return command("ls", "x").isEmpty();
        });
  }

  @Test
  void aLostLeaseThatIsDroppedLeavesNoThread() throws Exception {
    CountDownLatch told = new CountDownLatch(1);
    lease("dropped").ttl(SHORT).acquire().onLost(told::countDown);
    command("break", "--now", "dropped");
    told.await();
    until(
        () -> {
          System.gc();
          return Thread.getAllStackTraces().keySet().stream()
              .noneMatch(thread -> thread.getName().equals("rowlock dropped"));
        });
  }

  @Test
  void anOpenFenceOfOnesOwnIsAnError() throws Exception {
    try (Connection connection = transaction()) {
      Lease held = lease("x").ttl(SHORT).acquire(); // a third of it is the server's wait
      held.fence(connection);
      RowlockException error = assertThrows(RowlockException.class, held::close);
      assertTrue(error.getMessage().contains("fence()"), error.getMessage());
      connection.rollback();
    }
    command("break", "--now", "x");
  }

  @Test
  void aSnapshotIsRefused() throws Exception {
    Assumptions.assumeFalse(Server.POSTGRESQL, "its functions refuse that themselves");
    try (Connection connection = open()) {
      int before = Connection.TRANSACTION_REPEATABLE_READ;
      connection.setTransactionIsolation(before);
      connection.setAutoCommit(false);
      for (Executable call :
          List.<Executable>of(
              () -> Rowlock.lock(connection, "x"),
              () -> Rowlock.next(connection, "x"),
              () -> Rowlock.refresh(connection, "x", NONE, () -> {}))) {
        RowlockException refused = assertThrows(RowlockException.class, call);
        assertTrue(refused.getMessage().contains("TRANSACTION_READ_COMMITTED"));
      }
      assertEquals(before, connection.getTransactionIsolation());
      connection.rollback();
    }
  }

  @Test
  void aWrongArgumentOfTheServersIsNotRepeated() {
    AtomicInteger requests = new AtomicInteger();
    ConnectionSource counted = afterwards("request", requests::incrementAndGet);
    LeaseRequest request = Rowlock.lease(counted, "x").note("n".repeat(2000));
    RowlockException refused = assertThrows(RowlockException.class, request::acquire);
    assertEquals(RowlockException.class, refused.getClass());
    assertTrue(requests.get() <= 1);
  }

  private interface Then {
    void run() throws Exception;
  }

  /** Executes the statements with that word, and then this, before their replies arrive. */
  private ConnectionSource afterwards(String word, Then then) {
    return Server.faulty(
        this::open,
        word,
        execution -> {
          Object answer = execution.call();
          then.run();
          return answer;
        });
  }

  /** The replies of so many of the package's statements are lost. */
  private ConnectionSource cut(AtomicInteger executed, int count) {
    return afterwards(
        Server.POSTGRESQL ? "rowlock." : "CALL rowlock_",
        () -> {
          if (executed.incrementAndGet() <= count) {
            throw new SQLException("the connection was cut", "08006");
          }
        });
  }

  @Test
  void anErrorOfTheLockIsNotHidden() throws Exception {
    Assumptions.assumeFalse(Server.POSTGRESQL, "no setting is restored there");
    AtomicInteger settings = new AtomicInteger();
    ConnectionSource cut =
        Server.faulty(
            this::open,
            "innodb_lock_wait_timeout =",
            execution -> {
              if (settings.incrementAndGet() == 2) {
                throw new SQLException("the connection was cut", "08006");
              }
              return execution.call();
            });
    try (Connection connection = cut.open();
        Lease held = lease("x").acquire()) {
      held.check();
      connection.setAutoCommit(false);
      connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      BusyException busy =
          assertThrows(
              BusyException.class, () -> Rowlock.lock(connection, "x", Duration.ofSeconds(1)));
      assertEquals(1, busy.getCause().getSuppressed().length);
      assertTrue(connection.isClosed()); // its limit is another one
    }
  }

  @Test
  void aDatabaseThatIsAwayIsUnavailable() {
    String url = Server.jdbcUrl(Server.URL).replaceFirst(":[0-9]+/", ":1/");
    assertThrows(
        UnavailableException.class,
        () ->
            Rowlock.lease(() -> DriverManager.getConnection(url), "x").waitAtMost(NONE).acquire());
    RowlockException wrong =
        assertThrows(
            RowlockException.class,
            () -> Rowlock.lease(() -> DriverManager.getConnection("jdbc:none:"), "x").acquire());
    assertEquals(RowlockException.class, wrong.getClass());
  }
}
