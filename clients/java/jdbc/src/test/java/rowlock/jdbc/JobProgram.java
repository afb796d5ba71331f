// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.sql.DriverManager;
import java.time.Duration;

/** A node of its own: performs the job "j", which "waits" for its end, or "ends". */
final class JobProgram {
  private JobProgram() {}

  public static void main(String[] arguments) {
    Jobs jobs = Jobs.on(() -> DriverManager.getConnection(arguments[0]));
    jobs.grace(Duration.ofMillis(500))
        .job("j")
        .every(JobScenarios.FAR)
        .ttl(Duration.ofSeconds(5))
        .retry(100) // a JVM that begins may be too slow for a run
        .run(
            run -> {
              System.out.println("began " + run.retry());
              try {
                Thread.sleep(arguments[1].equals("waits") ? Long.MAX_VALUE : 0);
              } catch (InterruptedException error) {
                System.out.println("told");
              }
            });
    jobs.run();
  }
}
