// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.autoproxy.DefaultAdvisorAutoProxyCreator;
import org.springframework.aop.support.ComposablePointcut;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.RootClassFilter;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.Lifecycle;
import org.springframework.context.event.EventListener;
import rowlock.jdbc.Jobs;
import rowlock.jdbc.Lease;
import rowlock.jdbc.LeaseEvent;
import rowlock.jdbc.LostException;
import rowlock.jdbc.Rowlock;
import rowlock.jdbc.Run;
import rowlock.jdbc.fake.FakeDatabase;
import rowlock.jdbc.fake.FakeDatabase.EndedRun;
import rowlock.shedlock.RowlockLockProvider;

/** The starter in a context of Spring Boot: on a stand-in, and on the server ROWLOCK_TEST_JDBC. */
@Timeout(60)
class StarterTest {
  private final FakeDatabase fake = new FakeDatabase();
  private final ApplicationContextRunner bare =
      new ApplicationContextRunner()
          .withConfiguration(AutoConfigurations.of(RowlockAutoConfiguration.class));
  private final ApplicationContextRunner runner = bare.withBean(DataSource.class, fake::pool);
  private final ApplicationContextRunner stopped =
      runner.withPropertyValues("rowlock.auto-startup=false");
  private final ApplicationContextRunner onServer =
      bare.withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
          .withPropertyValues("spring.datasource.url=" + System.getenv("ROWLOCK_TEST_JDBC"));

  /** Its methods are jobs. */
  static class Shop {
    @RowlockJob(name = "${shop.name}", every = "50w", zone = "", note = "of the shop")
    void prices(Run run) {
      run.note("37 " + run.job());
    }

    @RowlockJob(
        name = "report",
        cron = "0 3 * * *",
        zone = "Europe/Berlin",
        maxRun = "1h",
        ttl = "PT20S",
        retry = 3,
        backoff = "5s",
        atLeast = "10ms",
        history = 7,
        missed = RowlockJob.Missed.SKIP)
    private void report() {
      throw new IllegalStateException("no paper");
    }

    @RowlockJob(name = "never", cron = "${shop.never:-}")
    void never() {}
  }

  private static String failure(AssertableApplicationContext context) {
    return String.valueOf(context.getStartupFailure());
  }

  @Test
  void methodsAreJobs() {
    stopped
        .withBean(Shop.class)
        .withPropertyValues("shop.name=prices")
        .run(
            context -> {
              assertEquals(2, context.getBean(Jobs.class).runDue());
              Map<String, List<EndedRun>> runs =
                  fake.runs().stream().collect(Collectors.groupingBy(EndedRun::job));
              assertEquals(
                  List.of(new EndedRun("prices", "done", "37 prices")), runs.get("prices"));
              EndedRun report = runs.get("report").get(0);
              assertEquals("failed", report.outcome());
              assertTrue(report.output().endsWith("IllegalStateException: no paper"));
            });
  }

  /** A job of an interface, which a proxy implements. */
  interface Mail {
    void send();
  }

  static class Mailer implements Mail {
    @Override
    @RowlockJob(name = "mail", every = "50w")
    public void send() {}
  }

  @Test
  void aMethodIsCalledThroughTheProxyOfItsBean() {
    CountDownLatch called = new CountDownLatch(1);
    MethodInterceptor counter =
        call -> {
          called.countDown();
          return call.proceed();
        };
    ComposablePointcut mail = new ComposablePointcut(new RootClassFilter(Mail.class));
    stopped
        .withBean(DefaultAdvisorAutoProxyCreator.class)
        .withBean(Advisor.class, () -> new DefaultPointcutAdvisor(mail, counter))
        .withBean("mail", Mailer.class)
        .run(
            context -> {
              assertTrue(Proxy.isProxyClass(context.getBean("mail").getClass()));
              assertEquals(1, context.getBean(Jobs.class).runDue());
              assertEquals(0, called.getCount());
            });
  }

  static class TwoSchedules {
    @RowlockJob(name = "mail", every = "50w", cron = "@daily")
    void mail() {}
  }

  static class Parameter {
    @RowlockJob(name = "mail", every = "50w")
    void mail(String to) {}
  }

  static class Twice {
    @RowlockJob(name = "mail", every = "50w")
    void one() {}

    @RowlockJob(name = "mail", every = "50w")
    void other() {}
  }

  static class Length {
    @RowlockJob(name = "mail", every = "50w", maxRun = "an hour")
    void mail() {}
  }

  @Test
  void aWrongAnnotationEndsTheStart() {
    Map<Class<?>, String> wrong =
        Map.of(
            TwoSchedules.class, "mail(): a job has one schedule",
            Parameter.class, "mail(java.lang.String): the method must have no parameter",
            Twice.class, "the job 'mail' is defined already",
            Length.class, "'an hour' is not a valid duration");
    wrong.forEach(
        (type, text) ->
            stopped
                .withBean(type)
                .run(
                    context -> {
                      String failure = failure(context);
                      assertTrue(failure.contains("@RowlockJob of "), failure);
                      assertTrue(failure.contains(text), failure);
                    }));
  }

  /** Runs until the test lets it, or the shutdown ends it. */
  static class Slow {
    final CountDownLatch begun = new CountDownLatch(1);
    final CountDownLatch end = new CountDownLatch(1);

    @RowlockJob(name = "slow", every = "50w")
    void slow(Run run) throws InterruptedException {
      begun.countDown();
      end.await();
    }
  }

  /** A part of the application that jobs may use. */
  static class Part implements Lifecycle {
    private final Supplier<List<EndedRun>> runs;
    List<EndedRun> before = List.of();

    Part(Supplier<List<EndedRun>> runs) {
      this.runs = runs;
    }

    @Override
    public void start() {}

    @Override
    public boolean isRunning() {
      return true;
    }

    @Override
    public void stop() {
      before = runs.get();
    }
  }

  @Test
  void jobsStartWithTheContextAndStopBeforeItsOtherParts() {
    Part part = new Part(fake::runs);
    runner
        .withBean(Slow.class)
        .withBean(Part.class, () -> part)
        .run(
            context -> {
              Slow slow = context.getBean(Slow.class);
              slow.begun.await();
              assertTrue(context.getBean(JobsLifecycle.class).isRunning());
              Thread closing = new Thread(context::close);
              closing.start();
              while (closing.getState() == Thread.State.RUNNABLE) { // until it waits for the run
                Thread.sleep(1);
              }
              slow.end.countDown();
              closing.join();
            });
    assertEquals(List.of(new EndedRun("slow", "done", "")), part.before);
  }

  @Test
  void aStopEndsRunsAsLostAfterTheGraceOrBeforeSpringsLimit() {
    for (String property :
        List.of("rowlock.grace=0s", "spring.lifecycle.timeout-per-shutdown-phase=4s")) {
      fake.makeDue("slow");
      runner
          .withBean(Slow.class)
          .withPropertyValues(property)
          .run(context -> context.getBean(Slow.class).begun.await());
    }
    assertEquals(List.of("lost", "lost"), fake.runs().stream().map(EndedRun::outcome).toList());
  }

  @Test
  void aProgramThatHasJobsStaysAlive() {
    runner
        .withBean(Slow.class)
        .run(
            context -> {
              context.getBean(Slow.class).end.countDown();
              Thread kept = keepAlive().orElseThrow();
              assertFalse(kept.isDaemon());
              context.close();
              kept.join();
            });
    runner.run(context -> assertTrue(keepAlive().isEmpty()));
  }

  private static Optional<Thread> keepAlive() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("rowlock keep-alive"))
        .findAny();
  }

  @Test
  void theApplicationsOwnJobsAndLockProviderAreUsed() {
    Jobs own = Jobs.on(fake.pool());
    LockProvider locks = configuration -> Optional.empty();
    stopped
        .withBean(Mailer.class)
        .withBean(Jobs.class, () -> own)
        .withBean(LockProvider.class, () -> locks)
        .run(
            context -> {
              assertSame(locks, context.getBean(LockProvider.class));
              assertEquals(1, own.runDue());
            });
  }

  @Test
  void shedLockLocksTheSameNames() {
    stopped.run(
        context -> {
          LockProvider locks = context.getBean(LockProvider.class);
          assertEquals(RowlockLockProvider.class, locks.getClass());
          LockConfiguration mail =
              new LockConfiguration(Instant.now(), "mail", Duration.ofMinutes(1), Duration.ZERO);
          locks.lock(mail).orElseThrow();
          assertTrue(fake.isHeld("mail"));
        });
  }

  @Test
  void eachPartNeedsItsLibrary() {
    stopped
        .withClassLoader(
            new FilteredClassLoader(LockProvider.class, MeterRegistry.class, HealthIndicator.class))
        .withBean(Mailer.class)
        .run(
            context -> {
              assertNull(context.getStartupFailure());
              assertFalse(context.containsBean("rowlockLockProvider"));
              assertFalse(context.containsBean("rowlockLeaseMetrics"));
              assertFalse(context.containsBean("rowlockHealthIndicator"));
              assertEquals(1, context.getBean(Jobs.class).runDue());
            });
    bare.run(context -> assertFalse(context.containsBean("rowlockJobs")));
    stopped
        .withPropertyValues("management.health.rowlock.enabled=false")
        .run(context -> assertFalse(context.containsBean("rowlockHealthIndicator")));
  }

  /** Sees what happens to leases. */
  static class Listener {
    final List<LeaseEvent> events = new CopyOnWriteArrayList<>();

    @EventListener
    void on(LeaseEvent event) {
      events.add(event);
    }
  }

  @Test
  void eventsAreTimersAndEventsOfTheContext() {
    stopped
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .withBean(Mailer.class)
        .withBean(Listener.class)
        .run(
            context -> {
              context.getBean(Jobs.class).runDue();
              Lease lease =
                  Rowlock.lease(context.getBean(DataSource.class), "import")
                      .ttl(Duration.ofSeconds(1))
                      .onEvent(context::publishEvent)
                      .acquire();
              fake.breakLease("import", "ann");
              CountDownLatch lost = new CountDownLatch(1);
              lease.onLost(lost::countDown);
              lost.await();
              assertThrows(LostException.class, lease::close);
              MeterRegistry registry = context.getBean(MeterRegistry.class);
              for (String meter :
                  List.of("acquired job:mail", "released job:mail", "lost import")) {
                String[] words = meter.split(" ");
                assertEquals(
                    1,
                    registry
                        .get("rowlock.lease." + words[0])
                        .tag("name", words[1])
                        .timer()
                        .count());
              }
              assertEquals(4, context.getBean(Listener.class).events.size());
            });
  }

  @Test
  void healthIsThatOfTheSchemaAndOfTheJobs() {
    ApplicationContextRunner healthy =
        onServer.withPropertyValues("rowlock.install=always", "rowlock.auto-startup=false");
    healthy.run(context -> assertEquals(Status.UP, health(context).getStatus()));
    healthy
        .withPropertyValues("rowlock.auto-startup=true")
        .withBean(WrongSchedule.class)
        .run(
            context -> {
              while (context.getBean(Jobs.class).failure() == null) {
                Thread.sleep(10);
              }
              Health health = health(context);
              assertEquals(Status.DOWN, health.getStatus());
              assertTrue(health.toString().contains("allowed are 0 to 59"), health.toString());
            });
    onServer
        .withPropertyValues("rowlock.auto-startup=false")
        .run(
            context -> {
              DataSource dataSource = context.getBean(DataSource.class);
              execute(dataSource, "ALTER SCHEMA rowlock RENAME TO put_away");
              try {
                Health health = health(context);
                assertEquals(Status.DOWN, health.getStatus());
                assertTrue(health.toString().contains("no schema of rowlock here"));
              } finally {
                execute(dataSource, "ALTER SCHEMA put_away RENAME TO rowlock");
              }
            });
  }

  private static Health health(AssertableApplicationContext context) {
    return context.getBean(HealthIndicator.class).health();
  }

  private static void execute(DataSource dataSource, String statement) throws Exception {
    try (Connection connection = dataSource.getConnection();
        PreparedStatement prepared = connection.prepareStatement(statement)) {
      prepared.execute();
    }
  }

  static class WrongSchedule {
    @RowlockJob(name = "wrong", cron = "60 * * * *")
    void wrong() {}
  }

  @Test
  void thePropertiesHaveMetadata() throws Exception {
    try (InputStream file =
        RowlockJob.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
      String text = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      for (String name : List.of("limit", "grace", "install", "auto-startup")) {
        assertTrue(text.contains("\"rowlock." + name + "\""), text);
      }
      assertTrue(text.contains("How long a shutdown waits for runs"), text);
    }
  }
}
