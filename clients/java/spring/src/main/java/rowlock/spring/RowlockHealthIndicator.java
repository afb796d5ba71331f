// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import javax.sql.DataSource;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import rowlock.jdbc.Jobs;
import rowlock.jdbc.Rowlock;

/** Down if the schema does not answer or is of another version, or if an error ended the jobs. */
final class RowlockHealthIndicator extends AbstractHealthIndicator {
  private final DataSource dataSource;
  private final Jobs jobs;

  RowlockHealthIndicator(DataSource dataSource, Jobs jobs) {
    super("rowlock does not work");
    this.dataSource = dataSource;
    this.jobs = jobs;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    Rowlock.verify(dataSource);
    Throwable failure = jobs.failure();
    if (failure != null) {
      builder.down(failure);
    } else {
      builder.up();
    }
  }
}
