// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;

/** PgJDBC, and MariaDB Connector/J; and programs that end. */
class JobsTest extends JobScenarios {
  @Override
  Connection open() throws SQLException {
    return Server.connect();
  }

  @Test
  void aProgramThatIsKilledIsReplaced() throws Exception {
    Process dying = start("waits");
    assertEquals("began 0", line(dying));
    dying.destroyForcibly().waitFor();
    Process other = start("ends");
    assertEquals("began 1", line(other));
    Server.until(() -> outcomes().startsWith("[done, lost"));
    other.destroy();
    other.waitFor();
  }

  @Test
  void aProgramThatEndsGivesItsRunToAnotherAtOnce() throws Exception {
    Process ending = start("waits");
    assertEquals("began 0", line(ending));
    ending.toHandle().destroy(); // SIGTERM
    assertEquals("told", line(ending));
    assertEquals(143, ending.waitFor());
    String outcomes = outcomes();
    assertTrue(outcomes.startsWith("[lost"), outcomes);
    try (Jobs jobs = jobs()) {
      jobs.job("j").every(FAR).run(run -> {});
      assertEquals(1, jobs.runDue());
    }
  }

  private static String outcomes() {
    return history("j", "outcome").toString();
  }
}
