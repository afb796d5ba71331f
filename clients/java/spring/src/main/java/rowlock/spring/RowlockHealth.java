// SPDX-License-Identifier: Apache-2.0
package rowlock.spring;

import java.util.function.Consumer;
import javax.sql.DataSource;
import rowlock.jdbc.Jobs;
import rowlock.jdbc.Rowlock;

/** The health of which the indicators of Spring Boot 3 and 4 are made, whose types differ. */
record RowlockHealth(DataSource dataSource, Jobs jobs) {
  static final String MESSAGE = "rowlock does not work";

  /** Throws if the schema does not answer or is of another version. Down: an error ended jobs. */
  void report(Runnable up, Consumer<Throwable> down) {
    Rowlock.verify(dataSource);
    Throwable failure = jobs.failure();
    if (failure != null) {
      down.accept(failure);
    } else {
      up.run();
    }
  }
}
