// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.util.concurrent.ThreadLocalRandom;

/** The pauses between attempts to reach the database: they grow from 50 ms to 1 s. */
final class Pauses {
  private long nanos = 50_000_000;

  long next() {
    long pause = ThreadLocalRandom.current().nextLong(nanos / 2, nanos);
    nanos = Math.min(2 * nanos, 1_000_000_000);
    return pause;
  }
}
