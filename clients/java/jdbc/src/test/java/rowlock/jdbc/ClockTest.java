// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** The clock goes on while the machine sleeps, and never goes back. */
class ClockTest {
  private long awake = -5_000; // System.nanoTime() may begin anywhere
  private long all = 70_000;
  private final Clock clock = new Clock(() -> awake, () -> all);

  private void pass(long both) {
    awake += both;
    all += both;
  }

  @Test
  void aSleepCounts() {
    assertEquals(-5_000, clock.read());
    pass(10);
    assertEquals(-4_990, clock.read());
    all += 60;
    assertEquals(-4_930, clock.read());
    pass(10);
    all += 30;
    assertEquals(-4_890, clock.read());
  }

  @Test
  void theSecondClockIsSetBack() {
    all += 60;
    assertEquals(-4_940, clock.read());
    all -= 50;
    pass(10);
    assertEquals(-4_930, clock.read());
  }

  @Test
  void theSecondClockCannotBeRead() {
    all += 60;
    assertEquals(-4_940, clock.read());
    all = 0;
    awake += 10;
    assertEquals(-4_930, clock.read());
  }

  @Test
  void theMachinesClockAgreesWithTheOtherOne() throws Exception {
    long awakeBefore = System.nanoTime();
    long before = Clock.now();
    Thread.sleep(300);
    long passed = Clock.now() - before;
    long awakePassed = System.nanoTime() - awakeBefore;
    assertTrue(passed >= 300_000_000L, () -> passed + " ns");
    assertTrue(passed <= awakePassed + 50_000_000L, () -> passed + " of " + awakePassed + " ns");
  }
}
