// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static rowlock.jdbc.Server.until;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What does not answer is given up in time. Each test would hang for ever without that. */
@Timeout(120)
class HangingTest {
  private static final Duration NONE = Duration.ZERO;
  private final CountDownLatch hangs = new CountDownLatch(1);
  private final AtomicInteger opened = new AtomicInteger();
  private final AtomicInteger closed = new AtomicInteger();

  private Connection openLate() {
    try {
      opened.incrementAndGet();
      hangs.await();
      return Server.connect();
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  private final DataSource hanging =
      Server.pool(this::openLate, connection -> closed.incrementAndGet());

  @Test
  void aConnectionThatComesLateIsGivenBack() throws Exception {
    LeaseRequest request = Rowlock.lease(hanging, "late").waitAtMost(NONE);
    assertThrows(UnavailableException.class, request::acquire);
    until(() -> opened.get() == 2); // the second one was to leave the queue
    hangs.countDown();
    until(() -> closed.get() == 2);
    assertEquals("", Server.command("ls", "late"));
  }

  @Test
  void withoutALimitAFirstConnectionThatHangsIsUnavailableToo() {
    assertThrows(UnavailableException.class, Rowlock.lease(hanging, "late")::acquire);
    hangs.countDown();
  }

  @Test
  void aServerThatAcceptsAndNeverAnswers() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      String url =
          Server.jdbcUrl(Server.URL).replaceFirst(":[0-9]+/", ":" + silent.getLocalPort() + "/");
      assertThrows(
          UnavailableException.class, Rowlock.lease(url, "late").waitAtMost(NONE)::acquire);
      AtomicReference<Throwable> thrown = new AtomicReference<>();
      Thread waiting =
          new Thread(
              () -> {
                LeaseRequest request = Rowlock.lease(url, "late");
                thrown.set(
                    assertThrows(
                        RowlockException.class, request.waitAtMost(Duration.ofHours(1))::acquire));
              });
      waiting.start();
      until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
      waiting.interrupt();
      waiting.join();
      assertEquals(WaitInterruptedException.class, thrown.get().getClass());
    }
  }

  @Test
  void aConnectionThatHangsDelaysNoOtherWaiterOfItsPool() throws Exception {
    AtomicInteger connects = new AtomicInteger();
    ConnectionSource first =
        () -> connects.incrementAndGet() <= 2 ? openLate() : Server.connect(); // and the withdrawal
    DataSource pool = Server.pool(first, connection -> {});
    assertThrows(UnavailableException.class, Rowlock.lease(pool, "late").waitAtMost(NONE)::acquire);
    until(() -> opened.get() == 2);
    Rowlock.lease(pool, "late").waitAtMost(NONE).acquire().close();
    hangs.countDown();
  }

  @Test
  void connectionsThatHangAreNotCountedForEver() throws Exception {
    AtomicInteger connects = new AtomicInteger();
    Source source =
        Source.own(() -> connects.incrementAndGet() <= 4 ? openLate() : Server.connect());
    try (Session session = new Session(source, "late", Session.SECOND)) {
      for (int i = 0; i < 4; i++) {
        assertThrows(UnavailableException.class, () -> session.call(1, link -> 0));
      }
      until(() -> opened.get() == 4);
      assertEquals("open", session.call(120 * Session.SECOND, link -> "open"));
    }
    hangs.countDown();
  }

  @Test
  void aDriverWithoutALimitKeepsFewThreads() throws Exception {
    long pause = Session.SECOND / 50;
    try (Session session = new Session(Source.own(this::openLate), "late", pause)) {
      for (int i = 0; i < 100; i++) {
        assertThrows(UnavailableException.class, () -> session.call(2 * pause, link -> 0));
      }
    }
    assertTrue(opened.get() <= 20, () -> opened + " hang");
    hangs.countDown();
  }

  @Test
  void theEndOfTheBlockCutsARenewalThatHangs() throws Exception {
    Duration ttl = Duration.ofDays(1);
    CountDownLatch renews = new CountDownLatch(1);
    ConnectionSource hanging =
        Server.faulty(
            Server::connect,
            "renew",
            execution -> {
              renews.countDown();
              hangs.await();
              return execution.call();
            });
    FixedLease held = Rowlock.lease(Server::connect, "late").ttl(ttl).tryFixed().orElseThrow();
    Terms terms = new Terms("late", ttl, event -> {});
    long sent = Clock.now() - ttl.toNanos() / 2; // its renewal is due
    Keeper keeper =
        new Keeper(new Session(Source.own(hanging), "late"), terms, held.getToken(), sent);
    renews.await();
    long before = System.nanoTime();
    keeper.close();
    long passed = System.nanoTime() - before;
    hangs.countDown();
    assertTrue(passed < 20_000_000_000L, () -> passed + " ns"); // 5 s, not the renewal's 30
    assertEquals("", Server.command("ls", "late"));
  }

  private static HikariDataSource pool(int size) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(Server.jdbcUrl(Server.URL));
    config.setMaximumPoolSize(size);
    config.setMinimumIdle(1);
    return new HikariDataSource(config);
  }

  @Test
  void anExhaustedPoolIsUnavailable() throws Exception {
    try (HikariDataSource pool = pool(1)) {
      try (Connection only = pool.getConnection()) {
        LeaseRequest request = Rowlock.lease(pool, "late").waitAtMost(NONE);
        assertThrows(UnavailableException.class, request::acquire);
        assertFalse(only.isClosed());
      }
      Rowlock.lease(pool, "late").acquire().close();
      until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
    }
  }

  @Test
  void aCallThatHangsLeavesThePool() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    AtomicInteger renewals = new AtomicInteger();
    List<Long> sessions = new ArrayList<>();
    try (HikariDataSource pool = pool(2)) {
      ConnectionSource first =
          Server.faulty(
              () -> {
                Connection connection = pool.getConnection();
                sessions.add(Server.session(connection));
                return connection;
              },
              "renew",
              execution -> {
                if (renewals.incrementAndGet() == 1) {
                  over.await();
                }
                return execution.call();
              });
      DataSource source = Server.pool(first, connection -> {});
      try (Lease held = Rowlock.lease(source, "late").ttl(Duration.ofSeconds(4)).acquire()) {
        until(() -> renewals.get() > 2);
        held.check();
      }
      over.countDown();
      until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
      long hung = sessions.get(1);
      for (int i = 0; i < 5; i++) {
        try (Connection connection = pool.getConnection()) {
          assertTrue(Server.session(connection) != hung);
        }
      }
    }
  }

  @Test
  void twelveCallersOfOneNameFinishWithAPoolOfTen() throws Exception {
    try (HikariDataSource pool = pool(10)) {
      List<Thread> callers = new ArrayList<>();
      AtomicInteger done = new AtomicInteger();
      for (int i = 0; i < 12; i++) {
        Thread caller =
            new Thread(
                () -> {
                  try (Lease held = Rowlock.lease(pool, "pooled").acquire();
                      Connection connection = pool.getConnection()) {
                    Engine.run(connection, "SELECT 1");
                    held.check();
                    done.incrementAndGet();
                  } catch (java.sql.SQLException error) {
                    throw new IllegalStateException(error);
                  }
                });
        callers.add(caller);
        caller.start();
      }
      for (Thread caller : callers) {
        caller.join();
      }
      assertEquals(12, done.get());
    }
  }

  @Test
  void oneWaiterOfAPoolCallsAtATime() throws Exception {
    AtomicInteger most = new AtomicInteger();
    AtomicInteger now = new AtomicInteger();
    AtomicInteger calls = new AtomicInteger();
    List<Thread> waiters = new ArrayList<>();
    try (HikariDataSource pool = pool(10);
        Lease held = Rowlock.lease(Server::connect, "gate").acquire()) {
      ConnectionSource counted =
          Server.faulty(
              pool::getConnection,
              "request",
              execution -> {
                most.accumulateAndGet(now.incrementAndGet(), Math::max);
                try {
                  calls.incrementAndGet();
                  return execution.call();
                } finally {
                  now.decrementAndGet();
                }
              });
      DataSource counting = Server.pool(counted, connection -> {});
      try {
        for (int i = 0; i < 6; i++) {
          LeaseRequest request = Rowlock.lease(counting, "gate").waitAtMost(Duration.ofHours(1));
          Thread waiter =
              new Thread(() -> assertThrows(WaitInterruptedException.class, request::acquire));
          waiters.add(waiter);
          waiter.start();
        }
        until(() -> calls.get() > 30);
        assertEquals(1, most.get());
      } finally {
        waiters.forEach(Thread::interrupt);
        for (Thread waiter : waiters) {
          waiter.join();
        }
      }
      held.check();
    }
  }
}
