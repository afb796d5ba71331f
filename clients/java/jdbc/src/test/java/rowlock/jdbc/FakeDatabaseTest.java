// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import rowlock.jdbc.fake.FakeDatabase;

/** The stand-in for tests of programs answers as a server does. */
@Timeout(120)
class FakeDatabaseTest {
  private final FakeDatabase fake = new FakeDatabase();
  private final DataSource pool = fake.pool();

  private Connection transaction() throws SQLException {
    Connection connection = pool.getConnection();
    connection.setAutoCommit(false);
    return connection;
  }

  @Test
  void aLeaseExcludes() throws Exception {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      Thread thread =
          new Thread(
              () -> {
                try (Lease held = Rowlock.lease(pool, "x").acquire()) {
                  most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                  held.check();
                  inside.decrementAndGet();
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(1, most.get());
    assertFalse(fake.isHeld("x"));
  }

  @Test
  void modes() {
    try (Lease one = Rowlock.lease(pool, "s").shared().acquire();
        Lease two = Rowlock.lease(pool, "s").shared().acquire()) {
      assertTrue(two.getToken() > one.getToken());
      LeaseRequest exclusive = Rowlock.lease(pool, "s").waitAtMost(Duration.ZERO);
      assertThrows(BusyException.class, exclusive::acquire);
    }
    try (Lease one = Rowlock.lease(pool, "p").permits(1).acquire()) {
      LeaseRequest second = Rowlock.lease(pool, "p").permits(1).waitAtMost(Duration.ZERO);
      assertThrows(BusyException.class, second::acquire);
      one.check();
    }
  }

  @Test
  void anotherHolder() {
    fake.hold("x", "ann");
    LeaseRequest request = Rowlock.lease(pool, "x").waitAtMost(Duration.ofMillis(50));
    BusyException busy = assertThrows(BusyException.class, request::acquire);
    assertEquals("ann", busy.holder().orElseThrow().program());
    assertEquals(0, busy.holder().orElseThrow().waiting());
    fake.free("x");
    request.acquire().close();
  }

  @Test
  void aLoss() throws Exception {
    CountDownLatch told = new CountDownLatch(1);
    Lease held = Rowlock.lease(pool, "x").ttl(Duration.ofSeconds(1)).acquire();
    held.onLost(told::countDown);
    fake.breakLease("x", "ann");
    assertTrue(told.await(60, TimeUnit.SECONDS));
    LostException lost = assertThrows(LostException.class, held::close);
    assertTrue(lost.reason().startsWith("broken by ann"), lost.reason());
  }

  @Test
  void anErrorOfAnActionIsOnlyAWarning() throws Exception {
    CountDownLatch told = new CountDownLatch(1);
    LeaseRequest request = Rowlock.lease(pool, "x").ttl(Duration.ofSeconds(1));
    Lease held =
        request
            .onEvent(
                event -> {
                  throw new AssertionError(event.kind());
                })
            .acquire();
    held.onLost(
        () -> {
          throw new AssertionError("of an action");
        });
    held.onLost(told::countDown);
    fake.breakLease("x", "ann");
    assertTrue(told.await(60, TimeUnit.SECONDS));
    assertThrows(LostException.class, held::close);
  }

  @Test
  void anErrorOfARenewalEndsNoRenewals() throws Exception {
    AtomicInteger opened = new AtomicInteger();
    DataSource failing =
        (DataSource)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {DataSource.class},
                (self, method, arguments) -> {
                  if (!method.getName().equals("getConnection")) {
                    return method.invoke(pool, arguments); // it is the key of a map
                  }
                  if (opened.incrementAndGet() > 1) {
                    throw new OutOfMemoryError("unable to create native thread");
                  }
                  return pool.getConnection();
                });
    CountDownLatch told = new CountDownLatch(1);
    Lease held = Rowlock.lease(failing, "x").ttl(Duration.ofSeconds(1)).acquire();
    held.onLost(told::countDown);
    assertTrue(told.await(20, TimeUnit.SECONDS));
    assertTrue(opened.get() > 2, () -> "opened " + opened);
    String reason = assertThrows(LostException.class, held::close).reason();
    assertTrue(reason.contains("native thread"), reason);
  }

  @Test
  void callsInATransaction() throws Exception {
    try (Connection one = transaction();
        Connection two = transaction();
        Lease held = Rowlock.lease(pool, "lease").acquire()) {
      Rowlock.lock(one, "x");
      assertThrows(BusyException.class, () -> Rowlock.lock(two, "x", Duration.ZERO));
      assertEquals(1, Rowlock.next(one, "counter"));
      one.rollback();
      Rowlock.lock(two, "x", Duration.ZERO);
      assertEquals(1, Rowlock.next(two, "counter"));
      two.commit();
      assertEquals(2, Rowlock.next(one, "counter"));
      held.fence(one);
      assertThrows(LostException.class, () -> Rowlock.fence(two, "lease", held.getToken() + 1));
      one.commit();
    }
  }

  @Test
  void jobs() throws Exception {
    try (Jobs jobs = Jobs.on(pool)) {
      jobs.job("prices").every("5m").run(run -> run.note("37 prices"));
      assertEquals(1, jobs.runDue());
      assertEquals(0, jobs.runDue());
      fake.makeDue("prices");
      fake.hold("job:prices", "ann");
      assertEquals(0, jobs.runDue());
      fake.free("job:prices");
      assertEquals(1, jobs.runDue());
      FakeDatabase.EndedRun ended = new FakeDatabase.EndedRun("prices", "done", "37 prices");
      assertEquals(List.of(ended, ended), fake.runs());
      CountDownLatch began = new CountDownLatch(1);
      jobs.job("stuck")
          .every("5m")
          .ttl(Duration.ofSeconds(1))
          .run(
              run -> {
                began.countDown();
                Thread.sleep(Long.MAX_VALUE);
              });
      jobs.start();
      assertTrue(began.await(60, TimeUnit.SECONDS));
      fake.breakLease("job:stuck", "ann");
    }
    assertEquals(2, fake.runs().size()); // it was lost
    assertFalse(fake.isHeld("job:stuck"));
  }

  @Test
  void aRefresh() throws Exception {
    AtomicInteger loads = new AtomicInteger();
    try (Connection one = transaction()) {
      assertTrue(Rowlock.refresh(one, "rates", Duration.ofHours(1), loads::incrementAndGet));
      one.rollback();
      assertTrue(Rowlock.refresh(one, "rates", Duration.ofHours(1), loads::incrementAndGet));
      one.commit();
      assertFalse(Rowlock.refresh(one, "rates", Duration.ofHours(1), loads::incrementAndGet));
      assertThrows(
          LostException.class,
          () -> Rowlock.refresh(one, "rates", Duration.ZERO, () -> one.commit()));
      assertEquals(2, loads.get());
    }
  }

  /** Stands in for that of Micrometer. */
  private static final class Registry {
    final List<String> recorded = new ArrayList<>();

    Timer timer(String name, String tag, String value) {
      return duration -> recorded.add("%s %s=%s".formatted(name, tag, value));
    }
  }

  private interface Timer {
    void record(Duration duration);
  }

  @Test
  void theMeterOfTheReadme() {
    Registry registry = new Registry();
    Lease lease =
        Rowlock.lease(pool, "import")
            .onEvent(
                event ->
                    registry
                        .timer("rowlock." + event.kind(), "name", event.name())
                        .record(event.duration()))
            .acquire();
    lease.close();
    assertEquals(
        List.of("rowlock.ACQUIRED name=import", "rowlock.RELEASED name=import"), registry.recorded);
  }

  @Test
  void otherSqlGoesToThePoolBehindIt() throws Exception {
    List<String> closed = new ArrayList<>();
    DataSource both =
        new FakeDatabase(Server.pool(Server::connect, connection -> closed.add("closed"))).pool();
    try (Connection connection = both.getConnection()) {
      connection.setAutoCommit(false);
      Rowlock.lock(connection, "x");
      assertEquals("1", Engine.run(connection, "SELECT '1'").get(0));
      connection.commit();
    }
    assertEquals(1, closed.size());
    assertThrows(SQLException.class, () -> Engine.run(pool.getConnection(), "SELECT '1'"));
  }
}
