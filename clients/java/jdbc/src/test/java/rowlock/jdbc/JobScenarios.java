// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static rowlock.jdbc.Server.command;
import static rowlock.jdbc.Server.until;

import java.io.BufferedReader;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntPredicate;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** What jobs promise, on a real server, by each driver and a pool: see its subclasses. */
@Timeout(120)
abstract class JobScenarios {
  static final String FAR = "50w"; // does not come due during a test; a new job is due at once
  private static final Duration SHORT = Duration.ofSeconds(1);

  private final List<Process> started = new ArrayList<>();

  abstract Connection open() throws SQLException;

  Jobs jobs() {
    return Jobs.on(this::open);
  }

  @BeforeEach
  void noJobIsKnown() {
    for (String job : List.of("j", "k", "l")) {
      command("jobs", job, "--forget");
    }
  }

  @AfterEach
  void nothingIsHeld() throws Exception {
    started.forEach(Process::destroyForcibly); // what a test that failed has left
    until(() -> command("ls").isEmpty());
  }

  /** The values of that key in the job's history, the latest run first. */
  static List<String> history(String job, String key) {
    String json = command("--json", "jobs", job);
    return Pattern.compile("\"" + key + "\" *: *(?:\"((?:[^\"\\\\]++|\\\\.)*+)\"|([^,}]*))")
        .matcher(json.substring(json.indexOf("\"history\"")))
        .results()
        .map(found -> found.group(1) == null ? found.group(2) : found.group(1))
        .toList();
  }

  private static String outcome(String job) {
    return history(job, "outcome").get(0);
  }

  @Test
  void anExceptionIsRecordedWithItsText() {
    try (Jobs jobs = jobs()) {
      jobs.job("j")
          .every(FAR)
          .retry(1)
          .backoff(Duration.ZERO)
          .run(
              run -> {
                run.note("connecting");
                throw new IOException("no mail server: \u00e9\0" + "x".repeat(5000));
              });
      assertEquals(1, jobs.runDue());
      assertEquals("failed", outcome("j"));
      String text = history("j", "output").get(0);
      String last = text.substring(text.lastIndexOf("\\n") + 2);
      assertTrue(text.startsWith("connecting\\njava.io.IOException: no mail server: "), text);
      assertTrue(last.startsWith("java.io.IOException: no mail server: \u00e9?xx"), last);
      assertEquals("1", history("j", "exit").get(0));
      assertEquals(1, jobs.runDue());
      assertEquals("1", history("j", "repeat").get(0));
      assertEquals(0, jobs.runDue());
    }
  }

  @Test
  void aRunThatFailsIsAWarningWithoutItsTrace() throws Exception {
    List<String> warnings =
        warnings(
            texts -> {
              try (Jobs jobs = jobs()) {
                jobs.job("j")
                    .every(FAR)
                    .run(
                        run -> {
                          throw new IOException("no {0}\nserver");
                        });
                assertEquals(1, jobs.runDue());
              }
            });
    assertEquals(List.of("the job 'j': the run has failed: java.io.IOException: no {0}"), warnings);
    String text = history("j", "output").get(0);
    assertTrue(text.contains("server\\n at rowlock.jdbc."), text); // without a tab
  }

  private static final class Silent extends Exception {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new IllegalStateException();
    }
  }

  @Test
  void anExceptionWithoutATextIsAFailure() throws Exception {
    List<String> warnings =
        warnings(
            texts -> {
              try (Jobs jobs = jobs()) {
                jobs.job("j")
                    .every(FAR)
                    .run(
                        run -> {
                          throw new Silent();
                        });
                assertEquals(1, jobs.runDue());
              }
            });
    assertEquals("failed", outcome("j"));
    String text = history("j", "output").get(0);
    assertTrue(text.startsWith(Silent.class.getName() + ", whose text is "), text);
    assertTrue(warnings.get(0).contains(Silent.class.getName()), warnings::toString);
  }

  @Test
  void aRunThatExceedsItsLongestTimeIsInterrupted() {
    try (Jobs jobs = jobs()) {
      jobs.job("j")
          .every(FAR)
          .maxRun(Duration.ofMillis(200))
          .run(
              run -> {
                run.check();
                assertThrows(InterruptedException.class, () -> Thread.sleep(Long.MAX_VALUE));
                run.check();
              });
      assertEquals(1, jobs.runDue());
    }
    assertEquals("timed out", outcome("j"));
    assertTrue(history("j", "output").get(0).contains("OverrunException: the run of 'j'"));
  }

  @Test
  void aBrokenRunIsInterrupted() throws Exception {
    CountDownLatch began = new CountDownLatch(1);
    CountDownLatch told = new CountDownLatch(1);
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    try (Jobs jobs = jobs()) {
      jobs.job("j")
          .every(FAR)
          .ttl(SHORT)
          .run(
              run -> {
                run.onLost(told::countDown);
                began.countDown();
                try {
                  Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException error) {
                  thrown.set(assertThrows(LostException.class, run::check));
                }
              });
      jobs.start();
      assertTrue(began.await(60, TimeUnit.SECONDS));
      command("break", "job:j");
      assertTrue(told.await(60, TimeUnit.SECONDS));
      until(() -> thrown.get() != null);
    }
    assertEquals("broken", outcome("j"));
  }

  private Connection transaction() throws SQLException {
    Connection connection = open();
    connection.setAutoCommit(false);
    return connection;
  }

  @Test
  void aFenceRefusesARunThatIsLost() {
    AtomicReference<Throwable> lost = new AtomicReference<>();
    try (Jobs jobs = jobs()) {
      jobs.job("j")
          .every(FAR)
          .run(
              run -> {
                try (Connection connection = transaction()) {
                  run.fence(connection);
                  connection.commit();
                  command("break", "--now", "job:j");
                  lost.set(assertThrows(LostException.class, () -> run.fence(connection)));
                  connection.rollback();
                }
              });
      jobs.job("k")
          .every(FAR)
          .run(
              run -> {
                try (Connection connection = transaction()) {
                  run.fence(connection);
                  connection.commit();
                }
              });
      assertEquals(2, jobs.runDue());
    }
    assertEquals("job:j", ((LostException) lost.get()).getName());
    assertEquals("broken", outcome("j"));
    assertEquals("done", outcome("k"));
  }

  @Test
  void closeGivesARunThatDoesNotEndToAnotherProgramAtOnce() throws Exception {
    CountDownLatch began = new CountDownLatch(1);
    CountDownLatch over = new CountDownLatch(1);
    AtomicBoolean told = new AtomicBoolean();
    Jobs jobs = jobs().grace(Duration.ofMillis(100));
    jobs.job("j")
        .every(FAR)
        .run(
            run -> {
              run.onLost(() -> told.set(outcome("j").equals("running")));
              began.countDown();
              while (over.getCount() > 0) {
                try {
                  over.await();
                } catch (InterruptedException error) {
                  continue; // it does not end
                }
              }
            });
    jobs.start();
    assertTrue(began.await(60, TimeUnit.SECONDS));
    jobs.close();
    assertTrue(told.get()); // before the end was recorded
    assertEquals("lost", outcome("j"));
    assertEquals("the program ended", history("j", "output").get(0));
    try (Jobs others = jobs()) {
      others.job("j").every(FAR).run(run -> run.note("retry " + run.retry()));
      assertEquals(1, others.runDue());
    } finally {
      over.countDown();
    }
    assertEquals(List.of("done", "lost"), history("j", "outcome"));
    assertEquals("retry 1", history("j", "output").get(0));
    assertThrows(IllegalStateException.class, jobs::start);
  }

  @Test
  void closeWaitsForARunThatEnds() throws Exception {
    CountDownLatch began = new CountDownLatch(1);
    CountDownLatch closing = new CountDownLatch(1);
    Jobs jobs = jobs().grace(Duration.ofMinutes(1));
    jobs.job("j")
        .every(FAR)
        .run(
            run -> {
              began.countDown();
              closing.await();
            });
    jobs.start();
    assertTrue(began.await(60, TimeUnit.SECONDS));
    Thread other = new Thread(jobs::close);
    other.start();
    until(
        () ->
            Thread.getAllStackTraces().keySet().stream()
                    .noneMatch(thread -> thread.getName().equals("rowlock jobs"))
                && other.getState() == Thread.State.WAITING);
    closing.countDown();
    other.join();
    assertEquals("done", outcome("j"));
  }

  @Test
  void releaseAllEndsARunAsLost() throws Exception {
    CountDownLatch began = new CountDownLatch(1);
    try (Jobs jobs = jobs()) {
      jobs.job("j")
          .every(FAR)
          .retry(0)
          .run(
              run -> {
                began.countDown();
                Thread.sleep(Long.MAX_VALUE);
              });
      jobs.start();
      assertTrue(began.await(60, TimeUnit.SECONDS));
      Rowlock.releaseAll();
    }
    assertEquals("lost", outcome("j"));
  }

  @Test
  void theLimitOfRuns() throws Exception {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch all = new CountDownLatch(6);
    for (boolean starts : new boolean[] {false, true}) {
      try (Jobs jobs = jobs().limit(1)) {
        for (String name : List.of("j", "k", "l")) {
          jobs.job(name)
              .every(FAR)
              .run(
                  run -> {
                    most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    Thread.sleep(100); // others would begin
                    inside.decrementAndGet();
                    all.countDown();
                  });
        }
        if (starts) {
          jobs.start();
          assertTrue(all.await(60, TimeUnit.SECONDS));
        } else {
          assertEquals(3, jobs.runDue());
        }
      }
      if (!starts) {
        noJobIsKnown();
      }
    }
    assertEquals(1, most.get());
  }

  @Test
  void aJobThatIsDefinedAfterTheStart() throws Exception {
    CountDownLatch ran = new CountDownLatch(1);
    try (Jobs jobs = jobs()) {
      jobs.start();
      jobs.job("j").every(FAR).run(run -> ran.countDown());
      assertTrue(ran.await(50, TimeUnit.SECONDS)); // it is not asked for after a minute
    }
  }

  @Test
  void aLostReplyIsRepeatedAndClaimsOnce() throws Exception {
    AtomicInteger claims = new AtomicInteger();
    CountDownLatch ran = new CountDownLatch(1);
    ConnectionSource cut =
        Server.faulty(
            this::open,
            "claim",
            execution -> {
              Object answer = execution.call();
              if (claims.incrementAndGet() == 1) {
                throw new SQLException("the connection was cut", "08006");
              }
              return answer;
            });
    List<String> warnings =
        warnings(
            texts -> {
              try (Jobs jobs = Jobs.on(cut)) {
                jobs.job("j").every(FAR).run(run -> ran.countDown());
                jobs.start();
                assertTrue(ran.await(60, TimeUnit.SECONDS));
              }
            });
    assertEquals(List.of("done"), history("j", "outcome"));
    assertTrue(
        warnings.get(0).startsWith("jobs: the database does not answer"), warnings::toString);
  }

  /** Calls that finish fail as long as this holds; those whose number is odd are executed. */
  private ConnectionSource unfinished(IntPredicate isAway) {
    AtomicInteger tries = new AtomicInteger();
    return Server.faulty(
        this::open,
        "finish",
        execution -> {
          int number = tries.incrementAndGet();
          if (!isAway.test(number)) {
            return execution.call();
          }
          if (number % 2 == 1 && number > 1) {
            execution.call();
          }
          throw new SQLException("the connection was cut", "08006");
        });
  }

  @Test
  void aResultIsSentAgainUntilTheDatabaseIsBack() throws Exception {
    List<String> events = new CopyOnWriteArrayList<>();
    List<String> warnings =
        warnings(
            texts -> {
              try (Jobs jobs = Jobs.on(unfinished(number -> number <= 5))) {
                jobs.onEvent(event -> events.add(event.kind().toString()));
                jobs.job("j")
                    .every(FAR)
                    .ttl(Duration.ofMinutes(1))
                    .run(run -> run.note("37 mails"));
                assertEquals(1, jobs.runDue());
                assertEquals(0, jobs.runDue());
              }
            });
    assertEquals(List.of("done"), history("j", "outcome"));
    assertEquals(List.of("37 mails"), history("j", "output"));
    assertEquals(List.of("ACQUIRED", "RELEASED"), events);
    assertEquals(1, warnings.size(), warnings::toString);
    assertTrue(
        warnings.get(0).startsWith("could not record the end of 'job:j', and sends it again: "),
        warnings::toString);
  }

  @Test
  void closeEndsTheAttemptsToSendAResult() throws Exception {
    AtomicInteger tries = new AtomicInteger();
    ConnectionSource away = unfinished(number -> tries.getAndSet(number) >= 0);
    Jobs jobs = Jobs.on(away).grace(Duration.ZERO);
    jobs.job("j").every(FAR).ttl(Duration.ofDays(1)).run(Run::check);
    jobs.start();
    until(() -> tries.get() > 2);
    jobs.close();
    until(
        () ->
            Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().equals("rowlock job:j")));
  }

  @Test
  void aReplyThatComesTooLateStartsNothing() {
    AtomicInteger claims = new AtomicInteger();
    ConnectionSource slow =
        Server.faulty(
            this::open,
            "claim",
            execution -> {
              Object answer = execution.call();
              if (claims.incrementAndGet() == 1) {
                Thread.sleep(SHORT.toMillis());
              }
              return answer;
            });
    try (Jobs jobs = Jobs.on(slow)) {
      jobs.job("j").every(FAR).ttl(SHORT).backoff(Duration.ZERO).run(Run::check);
      assertEquals(0, jobs.runDue());
      assertEquals("not started", outcome("j"));
      assertEquals(1, jobs.runDue());
      assertEquals("done", outcome("j"));
    }
  }

  @Test
  void aRunWithoutItsThreadIsNotStarted() {
    AtomicInteger threads = new AtomicInteger(Integer.MIN_VALUE);
    InheritableThreadLocal<String> limit =
        new InheritableThreadLocal<>() {
          @Override
          protected String childValue(String parent) { // by the constructor of Thread
            if (threads.incrementAndGet() == 2) { // after that of its lease
              throw new OutOfMemoryError("unable to create native thread");
            }
            return parent;
          }
        };
    limit.set("inherited");
    try (Jobs jobs = jobs()) {
      jobs.job("j").every(FAR).backoff(Duration.ZERO).run(Run::check);
      threads.set(0);
      assertEquals(0, jobs.runDue());
      assertEquals("not started", outcome("j"));
      assertEquals(1, jobs.runDue());
    } finally {
      limit.remove();
    }
  }

  private interface Logged {
    void with(List<String> texts) throws Exception;
  }

  private static List<String> warnings(Logged work) throws Exception {
    List<String> texts = new CopyOnWriteArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord message) {
            texts.add(
                message.getParameters() == null
                    ? message.getMessage()
                    : java.text.MessageFormat.format(
                        message.getMessage(), message.getParameters()));
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger("rowlock");
    logger.addHandler(handler);
    try {
      work.with(texts);
    } finally {
      logger.removeHandler(handler);
    }
    return texts;
  }

  @Test
  void anotherScheduleIsAWarning() throws Exception {
    try (Jobs jobs = jobs();
        Jobs others = jobs()) {
      jobs.job("j").every(FAR).run(run -> {});
      others.job("j").every("51w").run(run -> {});
      jobs.runDue();
      List<String> warnings =
          warnings(
              texts -> {
                others.runDue();
                jobs.runDue();
                others.runDue(); // the same text is not repeated
              });
      assertEquals(
          List.of(
              "the job 'j': another node has the schedule 'every 50w'",
              "the job 'j': another node has the schedule 'every 51w'"),
          warnings);
    }
  }

  @Test
  void aWrongScheduleIsRefused() throws Exception {
    String wrong = "60 * * * *";
    try (Jobs jobs = jobs()) {
      jobs.job("j").cron(wrong).run(run -> {});
      RowlockException refused = assertThrows(RowlockException.class, jobs::runDue);
      assertTrue(refused.getMessage().contains("allowed are 0 to 59"), refused.getMessage());
      assertTrue(refused.getMessage().startsWith("the job 'j': "), refused.getMessage());
      assertNotNull(refused.getSqlState());
      assertThrows(RowlockException.class, jobs::run);
      assertThrows(IllegalStateException.class, jobs::runDue);
    }
    List<String> messages =
        warnings(
            texts -> {
              try (Jobs jobs = jobs()) {
                jobs.job("j").cron(wrong).run(run -> {});
                jobs.start();
                until(() -> !texts.isEmpty());
              }
            });
    assertEquals(List.of("the jobs have ended"), messages);
  }

  private ConnectionSource failsOnce() {
    AtomicInteger claims = new AtomicInteger();
    return Server.faulty(
        this::open,
        "claim",
        execution -> {
          if (claims.incrementAndGet() == 1) {
            throw new SQLException("the server only reads", "25006");
          }
          return execution.call();
        });
  }

  @Test
  void anErrorOfTheFirstClaimThatMayPassIsAWarning() throws Exception {
    CountDownLatch ran = new CountDownLatch(1);
    List<String> messages =
        warnings(
            texts -> {
              try (Jobs jobs = Jobs.on(failsOnce())) {
                Job job = jobs.job("j").every(FAR);
                job.run(run -> ran.countDown());
                jobs.start();
                until(() -> !texts.isEmpty());
                job.ask = Clock.now(); // instead of a minute later
                jobs.job("k").every(FAR).run(run -> {}); // wakes the loop
                assertTrue(ran.await(60, TimeUnit.SECONDS));
                assertNull(jobs.failure());
              }
            });
    assertEquals(List.of("the job 'j': the server only reads"), messages);
    try (Jobs jobs = Jobs.on(failsOnce())) {
      jobs.job("l").every(FAR).run(run -> {});
      assertThrows(RowlockException.class, jobs::runDue); // which does not ask again
    }
  }

  @Test
  void anErrorOfAJobThatTheDatabaseKnowsIsAWarning() throws Exception {
    AtomicInteger claims = new AtomicInteger();
    CountDownLatch others = new CountDownLatch(1);
    ConnectionSource failing =
        Server.faulty(
            this::open,
            "claim",
            execution -> {
              if (claims.incrementAndGet() == 2) {
                throw new SQLException("out of something", "XX000");
              }
              return execution.call();
            });
    List<String> messages =
        warnings(
            texts -> {
              try (Jobs jobs = Jobs.on(failing)) {
                jobs.job("j").every(FAR).run(run -> {});
                jobs.start();
                until(() -> claims.get() >= 2);
                jobs.job("k").every(FAR).run(run -> others.countDown());
                assertTrue(others.await(60, TimeUnit.SECONDS));
              }
            });
    assertEquals(List.of("the job 'j': out of something"), messages);
  }

  @Test
  void anInterruptEndsTheWaitForRuns() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    try (Jobs jobs = jobs()) {
      Thread caller = Thread.currentThread();
      jobs.job("j")
          .every(FAR)
          .run(
              run -> {
                caller.interrupt();
                over.await();
              });
      assertThrows(WaitInterruptedException.class, jobs::runDue);
      assertTrue(Thread.interrupted());
      over.countDown();
    }
    assertEquals("done", outcome("j"));
  }

  @Test
  void zonesAndCron() {
    try (Jobs jobs = jobs()) {
      jobs.job("j").cron("@yearly").zone(ZoneOffset.UTC).skipMissed().run(run -> {});
      jobs.job("k").cron("0 3 1 1 *").zone(ZoneId.of("+02:00")).note("mine").run(run -> {});
      jobs.runDue();
      assertTrue(command("jobs", "k").contains("+02:00"), () -> command("jobs", "k"));
    }
  }

  @Test
  void wrongArgumentsAreRefused() {
    Jobs jobs = jobs();
    jobs.job("j").every(FAR).run(run -> {});
    for (Executable wrong :
        List.<Executable>of(
            () -> jobs.job("k").run(run -> {}),
            () -> jobs.job("k").every("1h").cron("@daily"),
            () -> jobs.job("j").every(FAR).run(run -> {}),
            () -> jobs.job("k".repeat(252)),
            () -> jobs.job(""),
            () -> jobs.job("k").every("1h\0"),
            () -> jobs.job("k").ttl(Duration.ofMillis(1)),
            () -> jobs.job("k").retry(-1),
            () -> jobs.job("k").history(0),
            () -> jobs.job("k").backoff(Duration.ofSeconds(-1)),
            () -> jobs.job("k").atLeast(Duration.ofDays(367)),
            () -> jobs.job("k").note("\0"),
            () -> jobs.limit(0),
            () -> jobs.grace(Duration.ofSeconds(-1)))) {
      assertThrows(IllegalArgumentException.class, wrong);
    }
    jobs.job("k".repeat(251)).every(FAR).run(run -> {});
    assertThrows(NullPointerException.class, () -> jobs.job("k").every(FAR).run(null));
    assertFalse(command("jobs").contains("k"));
  }

  Process start(String what) throws IOException {
    Process program =
        new ProcessBuilder(
                System.getProperty("java.home") + "/bin/java",
                "-cp",
                System.getProperty("java.class.path"),
                JobProgram.class.getName(),
                Server.jdbcUrl(Server.URL),
                what)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    started.add(program);
    return program;
  }

  static String line(Process program) throws IOException {
    BufferedReader output = program.inputReader();
    return output.readLine();
  }
}
