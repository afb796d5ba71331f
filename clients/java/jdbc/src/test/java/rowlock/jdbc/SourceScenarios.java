// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static rowlock.jdbc.Server.command;
import static rowlock.jdbc.Server.until;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the package promises, on a real server, where the source of connections matters. */
@Timeout(120) // by an interrupt, which ends a wait
abstract class SourceScenarios {
  static final Duration NONE = Duration.ZERO;
  static final Duration SHORT = Duration.ofSeconds(3);

  abstract Connection open() throws SQLException;

  LeaseRequest lease(String name) {
    return Rowlock.lease(this::open, name);
  }

  Connection transaction() throws SQLException {
    Connection connection = open();
    connection.setAutoCommit(false);
    if (!Server.POSTGRESQL) {
      connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    }
    return connection;
  }

  @AfterEach
  void nothingIsHeld() {
    assertEquals(0, command("ls").lines().count(), () -> command("ls"));
  }

  @Test
  void aLeaseExcludesAndIsShown() {
    long first;
    try (Lease held = lease("x").note("mine").acquire()) {
      first = held.getToken();
      held.check();
      assertFalse(held.isLost());
      assertTrue(held.remaining().toSeconds() >= 20);
      String shown = command("ls", "x");
      assertTrue(shown.contains("mine"), shown);
      assertTrue(shown.contains(":" + ProcessHandle.current().pid() + " "), shown);
      BusyException busy =
          assertThrows(BusyException.class, () -> lease("x").waitAtMost(NONE).acquire());
      assertEquals("x", busy.getName());
      assertTrue(busy.getHolder().contains("mine"), busy.getHolder());
    }
    try (Lease again = lease("x").waitAtMost(NONE).acquire()) {
      assertTrue(again.getToken() > first);
    }
  }

  @Test
  void aBreakIsReported() {
    CountDownLatch told = new CountDownLatch(1);
    AtomicInteger calls = new AtomicInteger();
    assertThrows(
        LostException.class,
        () -> {
          try (Lease held = lease("x").ttl(SHORT).acquire()) {
            held.onLost(calls::incrementAndGet);
            held.onLost(told::countDown);
            command("break", "x");
            assertTrue(told.await(20, TimeUnit.SECONDS));
            assertTrue(held.isLost());
            assertEquals(NONE, held.remaining());
            assertEquals("x", assertThrows(LostException.class, held::check).getName());
            held.onLost(calls::incrementAndGet); // at once
            assertEquals(2, calls.get());
          }
        });
    assertEquals(2, calls.get());
  }

  @Test
  void theFence() throws Exception {
    try (Connection connection = transaction();
        Lease held = lease("x").acquire()) {
      held.fence(connection);
      connection.commit();
      LostException lost =
          assertThrows(
              LostException.class, () -> Rowlock.fence(connection, "x", held.getToken() - 1));
      assertEquals("RL005", lost.getSqlState());
      connection.rollback();
    }
  }

  @Test
  void aLockInTheTransaction() throws Exception {
    try (Connection one = transaction();
        Connection two = transaction();
        Connection automatic = open()) {
      Rowlock.lock(one, "x");
      BusyException busy =
          assertThrows(BusyException.class, () -> Rowlock.lock(two, "x", Duration.ofMillis(100)));
      assertEquals("x", busy.getName());
      two.rollback();
      one.commit();
      Rowlock.lockShared(two, "x", Duration.ofSeconds(5));
      two.commit();
      RowlockException refused =
          assertThrows(RowlockException.class, () -> Rowlock.lock(automatic, "x"));
      assertTrue(refused.getMessage().contains("setAutoCommit(false)"));
      assertNull(refused.getSqlState());
    }
  }

  @Test
  void anInterruptEndsAWaitAndLeavesTheQueue() throws Exception {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    AtomicReference<Boolean> status = new AtomicReference<>();
    try (Lease held = lease("x").acquire()) {
      Thread waiting =
          new Thread(
              () -> {
                thrown.set(assertThrows(RowlockException.class, () -> lease("x").acquire()));
                status.set(Thread.currentThread().isInterrupted());
              });
      waiting.start();
      until(() -> command("ls", "x").contains("waiting"));
      waiting.interrupt();
      waiting.join(30_000); // 5 s; the machine may be busy
      assertFalse(waiting.isAlive());
      assertEquals(WaitInterruptedException.class, thrown.get().getClass());
      assertEquals(true, status.get());
      assertFalse(command("ls", "x").contains("waiting"));
      held.check();
    }
  }

  @Test
  void aLeaseThatNothingRenews() {
    FixedLease held = lease("x").ttl(Duration.ofSeconds(60)).tryFixed().orElseThrow();
    assertTrue(lease("x").tryFixed().isEmpty());
    held.renew(Duration.ofSeconds(120));
    assertTrue(held.release());
    assertFalse(held.release());
    assertThrows(LostException.class, () -> held.renew(Duration.ofSeconds(60)));
  }

  @Test
  void aLongTtlIsReleasedToo() {
    for (int days : new int[] {75, 36_525}) { // the first one has more milliseconds than an int
      lease("x").ttl(Duration.ofDays(days)).acquire().close();
      lease("x").waitAtMost(NONE).acquire().close();
    }
  }

  @Test
  void aRefusalHasFields() throws Exception {
    try (Lease held = lease("x").note("mine").acquire();
        Connection connection = transaction()) {
      BusyException busy =
          assertThrows(
              BusyException.class, () -> lease("x").waitAtMost(Duration.ofMillis(100)).acquire());
      Holder holder = busy.holder().orElseThrow();
      assertEquals("lease", holder.kind());
      assertEquals(ProcessHandle.current().pid(), holder.pid());
      assertEquals(LeaseRequest.HOST, holder.host());
      assertEquals(LeaseRequest.PROGRAM, holder.program());
      assertEquals("mine", holder.note());
      assertEquals(0, holder.waiting()); // without the caller
      assertTrue(Duration.between(holder.since(), Instant.now()).abs().toHours() < 1);
      busy = assertThrows(BusyException.class, () -> Rowlock.lock(connection, "x", NONE));
      assertEquals("mine", busy.holder().orElseThrow().note());
      connection.rollback();
      held.check();
    }
  }

  @Test
  void allLeasesAreReleasedAtAnExit() {
    Lease one = lease("x").acquire();
    Lease two = lease("y").acquire();
    Lease closed = lease("z").acquire();
    AtomicReference<String> announced = new AtomicReference<>();
    one.onLost(() -> announced.set(one.isLost() + command("ls", "x")));
    closed.close();
    Rowlock.releaseAll();
    assertEquals("", command("ls"));
    assertTrue(announced.get().startsWith("true"), announced::get);
    assertTrue(announced.get().contains("held"), announced::get); // not released yet
    assertThrows(LostException.class, one::check);
    for (Lease lease : List.of(one, two)) {
      LostException lost = assertThrows(LostException.class, lease::close);
      assertEquals("released by releaseAll", lost.reason());
      lease.close();
    }
    closed.close();
    assertFalse(closed.isLost());
  }

  @Test
  void namesAreData() {
    for (String name :
        List.of("it's", "a\\' OR 1=1 -- ", "œuf \ud83d\udd12", "?::text", "{fn x}")) {
      try (Lease held = lease(name).acquire()) {
        assertTrue(command("ls", name).contains(name), name);
        LeaseRequest second = lease(name).waitAtMost(NONE);
        assertThrows(BusyException.class, second::acquire);
        held.check();
      }
    }
  }
}
