// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import rowlock.jdbc.LeaseEvent.Kind;

/**
 * A run of a job, which has the lease of "job:NAME": see {@link Jobs}. Its thread is interrupted
 * when the run is lost, and at its maxRun. All methods may be called from any thread; none of them
 * blocks, except for fence().
 */
public final class Run {
  private static final int KEPT = 2048; // bytes that the server keeps: the last ones

  final Keeper keeper;
  CompletableFuture<Void> ended;
  private final Job job;
  private final List<Object> claim;
  private final long began = Clock.now();
  private final StringBuffer output = new StringBuffer();

  Run(Job job, Keeper keeper, List<Object> claim) {
    this.job = job;
    this.keeper = keeper;
    this.claim = claim;
  }

  /** Returns the name of the job. */
  public String job() {
    return job.name;
  }

  /** Returns the due time for which it runs. */
  public Instant due() {
    return Instant.ofEpochMilli(LeaseRequest.number(claim.get(1), 0));
  }

  /** Returns the number of the retry: 0 of the first try. */
  public int retry() {
    return (int) LeaseRequest.number(claim.get(2), 0);
  }

  /** Returns the number of its lease, for {@link Rowlock#fence}; that of a later run is greater. */
  public long token() {
    return keeper.token;
  }

  /** Tells whether another program may perform the job now. Asks only the clock. */
  public boolean isLost() {
    return keeper.isLost();
  }

  /** Adds an action for the loss of the run: see {@link Lease#onLost}. */
  public void onLost(Runnable action) {
    keeper.onLost(action);
  }

  /** Returns the time for which its lease is still certain; zero: it is lost or has ended. */
  public Duration remaining() {
    return keeper.remaining();
  }

  /**
   * Fails if the run must stop. Asks only the clock.
   *
   * @throws LostException if another program may perform the job now
   * @throws OverrunException after its maxRun
   */
  public void check() {
    keeper.check();
    if (isOverrun()) {
      throw new OverrunException(job.name);
    }
  }

  /**
   * Keeps the run from being lost until that connection's transaction ends: call it in each one
   * that writes. End the transaction before the run ends.
   *
   * @throws LostException if the run is lost
   * @throws OverrunException after its maxRun
   */
  public void fence(Connection connection) {
    check();
    Rowlock.fence(connection, keeper.terms.name(), keeper.token);
  }

  /** Adds a line to what {@code rowlock jobs} shows of the run; the last 2,048 bytes are kept. */
  public void note(String text) {
    Arguments.size("the note", text);
    output.append(text).append('\n');
  }

  private boolean isOverrun() {
    return Clock.now() - began >= job.maxRun.toNanos();
  }

  /** Performs it, in its thread, and records its end. */
  void perform() {
    Thread body = Thread.currentThread(); // nobody else has it: a late interrupt does no harm
    CompletableFuture<Void> limit = new CompletableFuture<>();
    Throwable failure = null;
    try {
      keeper.terms.tell(Kind.ACQUIRED, keeper.token, keeper.acquired, "");
      keeper.onLost(body::interrupt);
      limit.completeOnTimeout(null, job.maxRun.toNanos(), TimeUnit.NANOSECONDS);
      limit.thenRun(body::interrupt);
      job.task.run(this);
    } catch (Throwable error) {
      failure = error;
    }
    String outcome = outcome(failure);
    limit.cancel(false);
    String text = failure == null ? "" : text(failure);
    try {
      if (failure != null && !outcome.equals("lost")) { // which is reported
        job.warn("the run has %s: %.500s".formatted(outcome, text.split("\\R", 2)[0]));
      }
      keeper.ending = Job.finish(keeper.token, outcome, kept(text));
      keeper.repeats = true;
    } finally {
      keeper.close(); // an error: it was lost, or has an open fence
    }
  }

  private String outcome(Throwable failure) {
    if (isLost() || failure instanceof LostException e && e.getName().equals(keeper.terms.name())) {
      return "lost";
    }
    return isOverrun() ? "timed out" : failure == null ? "done" : "failed";
  }

  /** The trace of an exception, and its text as the last line: that is what a list shows. */
  private static String text(Throwable failure) {
    StringWriter trace = new StringWriter();
    try {
      failure.printStackTrace(new PrintWriter(trace));
      return "%.1000s\n%.1000s".formatted(trace, failure);
    } catch (Throwable error) { // of its methods, which are the application's
      return "%s, whose text is %s".formatted(failure.getClass().getName(), error.getClass());
    }
  }

  /** The end of its notes and of a text, as the server keeps it. */
  private String kept(String last) {
    String text = output.append(last).substring(Math.max(0, output.length() - KEPT));
    text = text.replace('\0', '?').replace('\t', ' ').strip();
    return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8); // no halves
  }
}
