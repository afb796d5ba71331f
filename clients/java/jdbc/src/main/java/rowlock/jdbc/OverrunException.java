// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

/** The run of a job has exceeded its longest time: {@link Job#maxRun}. */
public class OverrunException extends RowlockException {
  private static final long serialVersionUID = 1L;

  OverrunException(String job) {
    super("the run of '%s' has exceeded its maxRun: stop it".formatted(job), null);
  }
}
