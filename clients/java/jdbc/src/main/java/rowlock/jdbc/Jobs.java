// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.sql.DataSource;

/**
 * The jobs of this program: each run that is due is performed by one program of the farm. Define
 * them by {@link #job}, then call {@link #start}, {@link #run} or {@link #runDue}. The database
 * decides what is due, by its own clock and time zones.
 *
 * <p>The result of a run is sent again as long as its lease lasts, if the database does not answer;
 * that, and a run that fails, is a message of the System.Logger "rowlock" at level WARNING.
 *
 * <p>A thread asks for due runs, and each run has a thread of its own, with one that renews its
 * lease. All of them are daemons: they do not keep the program alive, so close() the jobs before
 * its end. Call close() from any thread, but in no run, and the other methods in one thread at a
 * time.
 */
public final class Jobs implements AutoCloseable {
  private static final long AGAIN = 60 * Session.SECOND; // after an error of one job

  private final Source source;
  private final List<Job> jobs = new CopyOnWriteArrayList<>();
  private final Semaphore wake = new Semaphore(0);
  private int limit = 10;
  private Duration grace = Duration.ofSeconds(10);
  private Consumer<? super LeaseEvent> hook = event -> {};
  private volatile CompletableFuture<Void> loop; // null: it was not started
  private volatile boolean stopping;

  private Jobs(Source source) {
    this.source = source;
  }

  /** Jobs on the database of a pool, of which each short call borrows a connection. */
  public static Jobs on(DataSource pool) {
    return new Jobs(Source.pool(pool));
  }

  /** Jobs that open a connection to ask for due runs, and one for each run. */
  public static Jobs on(ConnectionSource source) {
    return new Jobs(Source.own(source));
  }

  /** Sets how many runs this program performs at once; without it, 10. */
  public Jobs limit(int most) {
    limit = Arguments.between("the limit", most, 1, Integer.MAX_VALUE);
    return this;
  }

  /** Sets how long close() waits for runs; without it, 10 s. */
  public Jobs grace(Duration time) {
    grace = Job.period("grace", time);
    return this;
  }

  /** Sets an action for what happens to the leases of the runs, such as to measure it. */
  public Jobs onEvent(Consumer<? super LeaseEvent> action) {
    hook = action;
    return this;
  }

  /** Begins the definition of a job, which {@link Job#run} completes. */
  public Job job(String name) {
    return new Job(this, name);
  }

  void add(Job added) {
    if (jobs.stream().anyMatch(job -> job.name.equals(added.name))) {
      throw new IllegalArgumentException("the job '%s' is defined already".formatted(added.name));
    }
    jobs.add(added);
    wake.release();
  }

  /**
   * Performs the jobs in threads until close(), and returns at once. An error that only a change of
   * the program can repair, such as a wrong schedule, ends them with a message at level ERROR. One
   * that may pass, such as of a server that only reads, is a warning, and is tried again.
   *
   * @throws IllegalStateException if they were started or closed before
   */
  public synchronized void start() {
    requireNew();
    loop = Session.inThread("jobs", this::serve);
  }

  /** Returns the error that ended the jobs after start(), for a health check; null: none. */
  public Throwable failure() {
    boolean failed = loop != null && loop.isCompletedExceptionally();
    return failed ? loop.handle((nothing, error) -> error.getCause()).join() : null;
  }

  /**
   * Performs the jobs until the program ends, by SIGTERM or SIGINT, until this thread is
   * interrupted, or until close() in another thread. Then it closes them. For a main program.
   *
   * @throws RowlockException for an error that only a change of the program can repair
   * @throws IllegalStateException if they were started or closed before
   */
  public void run() {
    Runtime.getRuntime().addShutdownHook(new Thread(this::close, "rowlock jobs"));
    start();
    try {
      loop.get();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException error) {
      throw Errors.meaning(error.getCause(), "jobs");
    } finally {
      close();
    }
  }

  /**
   * Performs what is due now, at most as many runs at once as the limit, waits for these runs, and
   * returns how many they were. For tests, and for the loop of another scheduler.
   *
   * @throws UnavailableException if the database does not answer within 5 s
   * @throws WaitInterruptedException if the thread is interrupted; the runs continue until close()
   * @throws IllegalStateException if the jobs were started or closed
   */
  public int runDue() {
    requireNew();
    List<Run> runs = new ArrayList<>();
    try (Session session = new Session(source, "jobs")) {
      for (Job job : jobs) {
        while (running().size() >= limit && !stopping) {
          wake.acquire();
        }
        Run run = job.isRunning() || stopping ? null : ask(session, job, false);
        if (run != null) {
          runs.add(run);
        }
      }
      for (Run run : runs) {
        run.ended.handle((nothing, error) -> nothing).get();
      }
    } catch (InterruptedException | ExecutionException error) {
      Thread.currentThread().interrupt();
      throw new WaitInterruptedException("jobs");
    }
    return runs.size();
  }

  /**
   * Claims no more, and waits for the runs, as long as the grace; in an interrupted thread, too.
   * Then it ends the others as lost: their threads are interrupted first, and another program may
   * repeat them at once. Returns within 15 s after the grace, even if they do not end.
   */
  @Override
  public synchronized void close() {
    if (stopping) {
      return;
    }
    stopping = true;
    wake.release();
    // it may be claiming a run
    Keeper.await(loop == null ? List.of() : List.of(loop), 2 * LeaseRequest.REPLY);
    Keeper.await(running().stream().map(run -> run.ended).toList(), grace.toNanos());
    Keeper.await(
        running().stream().map(run -> run.keeper.revoke("the program ends")).toList(),
        LeaseRequest.REPLY);
  }

  private void requireNew() {
    if (loop != null || stopping) {
      throw new IllegalStateException("the jobs were started or closed before");
    }
  }

  private List<Run> running() {
    return jobs.stream().filter(Job::isRunning).map(job -> job.run).toList();
  }

  // ---- the thread

  private void serve() {
    Pauses pauses = new Pauses();
    try (Session session = new Session(source, "jobs")) {
      while (!stopping) {
        wake.drainPermits();
        long pause;
        try {
          pause = askAll(session);
          pauses = new Pauses();
        } catch (UnavailableException error) {
          Session.LOG.log(Level.WARNING, "jobs: {0}", error.getMessage());
          pause = pauses.next();
        }
        wake.tryAcquire(stopping ? 0 : pause, TimeUnit.NANOSECONDS);
      }
    } catch (InterruptedException error) { // nobody has this thread
      throw new WaitInterruptedException("jobs");
    } catch (RuntimeException | Error error) {
      Session.LOG.log(Level.ERROR, "the jobs have ended", error);
      throw error;
    }
  }

  /** Asks for each job whose time has come; returns how long to wait then. */
  private long askAll(Session session) {
    Stream<Job> idle = jobs.stream().filter(job -> !job.isRunning());
    long next = Clock.now() + AGAIN;
    // in this order none waits forever at the limit
    for (Job job : idle.sorted(Comparator.comparingLong(job -> job.ask)).toList()) {
      if (stopping || running().size() >= limit) {
        return AGAIN; // the end of a run wakes it
      }
      if (job.ask - Clock.now() <= 0) {
        ask(session, job, true);
      }
      next = Math.min(next, job.ask);
    }
    return Math.max(0, next - Clock.now());
  }

  /** Asks for a job, and begins its run; null: it is not due. again: the caller asks again. */
  private Run ask(Session session, Job job, boolean again) {
    try {
      return claim(session, job);
    } catch (RuntimeException | Error error) {
      boolean mayPass = job.answered || again && Errors.passes(error);
      if (!mayPass && error.getClass() == RowlockException.class) { // its terms are wrong
        throw new RowlockException(job.text(error.getMessage()), error.getCause());
      }
      if (!mayPass || error instanceof UnavailableException) {
        throw error; // all jobs must wait
      }
      job.ask = Clock.now() + AGAIN;
      job.warn(error.getMessage());
      return null;
    }
  }

  private Run claim(Session session, Job job) {
    Terms terms = new Terms("job:" + job.name, job.ttl, hook);
    long sent = Clock.now();
    List<Object> row = job.claim(session);
    long token = LeaseRequest.number(row.get(0), 0);
    boolean late = stopping || Clock.now() - terms.certain(sent) >= 0;
    if (token != 0 && late) {
      session.call(LeaseRequest.REPLY, Job.finish(token, "not started", null));
      job.ask = Clock.now() + Session.SECOND;
    }
    if (token == 0 || late) {
      return null;
    }
    Keeper keeper = new Keeper(new Session(source, terms.name()), terms, token, sent);
    keeper.ending = Job.finish(token, "lost", "the program ended");
    Run run = new Run(job, keeper, row);
    try {
      run.ended = Session.inThread("run of " + job.name, run::perform);
    } catch (Error error) { // such as no memory for a thread
      keeper.ending = Job.finish(token, "not started", error.toString());
      keeper.close();
      throw error;
    }
    job.run = run;
    run.ended.exceptionally(error -> job.warn(error.getCause())).thenRun(wake::release);
    return run;
  }
}
