// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

/**
 * A job of this program: {@code jobs.job("mail").every("5m").run(run -> ...)}. All programs that
 * share a job must define the same. A wrong argument is an IllegalArgumentException at once, but
 * for the schedule and the zone, which only the database reads.
 */
public final class Job {
  private static final int YEAR = 366 * 86_400;

  /** The work of a job. */
  @FunctionalInterface
  public interface Task {
    /**
     * Performs one run, in a thread of its own. What it throws is recorded: the run has failed.
     *
     * @throws Exception if the work fails
     */
    void run(Run run) throws Exception;
  }

  final String name;
  Task task;
  Duration ttl = Duration.ofSeconds(30);
  Duration maxRun = Duration.ofDays(36_525);
  volatile long ask = Clock.now(); // when to ask, by Clock
  volatile Run run; // the latest one here
  boolean answered; // the database has accepted its terms
  private final Jobs jobs;
  // of a claim: name, schedule, owner, ttl_ms, zone, retry, backoff_ms, missed, at_least_ms,
  // history, host, pid, program, note
  private final Object[] values = new Object[14];
  private String former; // the schedule of another node, if that was reported

  Job(Jobs jobs, String name) {
    this.jobs = jobs;
    this.name = Arguments.name(name, 251); // the server puts "job:" before it
    set(0, name).set(2, UUID.randomUUID().toString()).set(4, "UTC").set(6, 10_000L).set(7, "once");
    set(8, 0L).set(9, 100).set(10, LeaseRequest.HOST).set(11, LeaseRequest.PID);
    set(12, LeaseRequest.PROGRAM);
  }

  private Job set(int at, Object value) {
    values[at] = value;
    return this;
  }

  /** Sets a period as the schedule, such as "5m", "1h" or "2w". */
  public Job every(String period) {
    return cron("every " + period);
  }

  /** Sets a line of cron as the schedule: five fields, or "@daily" and the like. */
  public Job cron(String line) {
    if (values[1] != null) {
      throw new IllegalArgumentException("a job has one schedule: every() or cron()");
    }
    Arguments.size("the schedule", line);
    return set(1, line);
  }

  /** Sets the time zone of a line of cron; without it, UTC. */
  public Job zone(ZoneId zone) {
    return set(4, zone.getId().equals("Z") ? "UTC" : zone.getId());
  }

  /** Sets after which time another program repeats the run of one that died; without it, 30 s. */
  public Job ttl(Duration time) {
    ttl = Arguments.ttl(time);
    return this;
  }

  /** Sets after which time a run is interrupted, and recorded as timed out; without it, never. */
  public Job maxRun(Duration most) {
    maxRun = period("maxRun", most);
    return this;
  }

  /** Sets how often a failed or lost run is repeated; without it, a lost one once. */
  public Job retry(int times) {
    return set(5, Arguments.between("retry", times, 0, Integer.MAX_VALUE));
  }

  /** Sets the pause before a failed run is repeated; without it, 10 s. */
  public Job backoff(Duration pause) {
    return set(6, Arguments.millis(period("backoff", pause)));
  }

  /** No run replaces due times at which no program asked; without it, one run replaces them all. */
  public Job skipMissed() {
    return set(7, "skip");
  }

  /** Sets how long the name stays taken, even if the run ends sooner. */
  public Job atLeast(Duration time) {
    return set(8, Arguments.millis(period("atLeast", time)));
  }

  /** Sets how many runs the database keeps; without it, 100. */
  public Job history(int runs) {
    return set(9, Arguments.between("history", runs, 1, 1_000_000));
  }

  /** Sets a text for those who look who performs the job. */
  public Job note(String note) {
    Arguments.size("the note", note);
    return set(13, note);
  }

  /** Defines the job: this program performs it when it is due. */
  public void run(Task work) {
    if (values[1] == null) {
      throw new IllegalArgumentException("the job '%s' needs every() or cron()".formatted(name));
    }
    set(3, ttl.toMillis());
    task = Objects.requireNonNull(work);
    jobs.add(this);
  }

  static Duration period(String what, Duration time) {
    Arguments.between(
        what + " in seconds", (int) Math.min(time.toSeconds(), Integer.MAX_VALUE), 0, YEAR);
    return time;
  }

  boolean isRunning() {
    return run != null && !run.ended.isDone();
  }

  /** Asks for a run. The owner of a call whose reply was lost is used again. */
  List<Object> claim(Session session) {
    List<Object> row =
        session.call(LeaseRequest.REPLY, link -> link.run(link.engine().claim(), values));
    values[2] = UUID.randomUUID().toString();
    answered = true;
    ask = Clock.now() + LeaseRequest.number(row.get(4), 0) * 1_000_000;
    if (row.get(5) != null) {
      warn("the previous run, %s, was lost".formatted(row.get(5)));
    }
    if (row.get(6) != null && !row.get(6).equals(former)) {
      former = row.get(6).toString();
      warn("another node has the schedule '%s'".formatted(former));
    }
    return row;
  }

  String text(Object what) {
    return "the job '%s': %s".formatted(name, what);
  }

  Void warn(Object what) {
    Session.LOG.log(Level.WARNING, "{0}", text(what));
    return null;
  }

  /** The call that ends a run; false: it was lost before. */
  static Session.Work<Boolean> finish(long token, String outcome, String output) {
    return link -> link.end(link.engine().finish(), token, outcome, output);
  }
}
