// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.function.LongSupplier;

/**
 * A monotonic clock in nanoseconds, which counts the sleep of the machine. System.nanoTime() may
 * stop then, so the time that a second clock gains on it is added. On Linux that is the time since
 * the boot; elsewhere it is the wall clock, and leases end early if somebody sets it forward.
 */
final class Clock {
  private static final RandomAccessFile UPTIME = open(); // null if there is none
  private static final Clock MACHINE =
      new Clock(
          System::nanoTime,
          UPTIME == null ? () -> System.currentTimeMillis() * 1_000_000 : Clock::uptime);

  private final LongSupplier awake;
  private final LongSupplier all;
  private final long start;
  private long slept;

  Clock(LongSupplier awake, LongSupplier all) {
    this.awake = awake;
    this.all = all;
    start = all.getAsLong() - awake.getAsLong();
  }

  static long now() {
    return MACHINE.read();
  }

  // in this order: a delay between the two readings does not look like a sleep
  synchronized long read() {
    long ahead = all.getAsLong();
    long now = awake.getAsLong();
    slept = Math.max(slept, ahead - now - start);
    return now + slept;
  }

  private static RandomAccessFile open() {
    try {
      return new RandomAccessFile("/proc/uptime", "r"); // stays open: check() must be quick
    } catch (IOException error) {
      return null;
    }
  }

  private static long uptime() {
    try {
      byte[] text = new byte[64];
      UPTIME.seek(0);
      int length = UPTIME.read(text);
      String seconds = new String(text, 0, length, StandardCharsets.US_ASCII).split(" ")[0];
      return Long.parseLong(seconds.replace(".", "")) * 10_000_000; // it has two decimals
    } catch (IOException | RuntimeException error) {
      return 0; // no sleep is seen
    }
  }
}
