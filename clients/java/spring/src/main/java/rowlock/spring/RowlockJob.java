// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A method of a bean that performs a job: of all instances of the application one performs each run
 * that is due, in a thread of its own. The method has no parameter, or a {@link rowlock.jdbc.Run}.
 * What it throws is recorded: the run has failed. Its thread is interrupted when the run is lost,
 * at its maxRun, and after the grace of a shutdown.
 *
 * <p>The texts may have placeholders, such as <code>${report.cron}</code>. Lengths of time are
 * those of Spring Boot's properties, such as "90s", "1h" or "PT1H". A mistake in this annotation
 * ends the start of the application, except in the schedule and the zone's name for the database,
 * which only the database reads: see {@link rowlock.jdbc.Jobs#start}.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface RowlockJob {
  /** What replaces due times at which no instance ran. */
  enum Missed {
    /** One run replaces them all. */
    ONCE,
    /** No run replaces them. */
    SKIP
  }

  /** The name of the job, which all programs on the database share. */
  String name();

  /** The schedule: a line of cron with five fields, or "@daily" and the like; "-": no job. */
  String cron() default "";

  /** Or a period, such as "5m", "1h" or "2w"; "-": no job. */
  String every() default "";

  /** The time zone of the line of cron; without it, UTC. */
  String zone() default "";

  /** After which time a run is interrupted, and recorded as timed out; without it, never. */
  String maxRun() default "";

  /** How often a failed or lost run is repeated; -1: a lost one once. */
  int retry() default -1;

  /** The pause before a failed run is repeated; without it, 10 s. */
  String backoff() default "";

  /** What replaces due times at which no instance ran. */
  Missed missed() default Missed.ONCE;

  /** After which time another instance repeats the run of one that died; without it, 30 s. */
  String ttl() default "";

  /** How long the job's name stays taken, even if the run ends sooner. */
  String atLeast() default "";

  /** How many runs the database keeps. */
  int history() default 100;

  /** A text for those who look who performs the job. */
  String note() default "";
}
