// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.time.Duration;

/** A lease that nothing renews in the background: {@link LeaseRequest#tryFixed()}. */
public final class FixedLease {
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final ConnectionSource source;
  private final String name;
  private final long token;
  private volatile long sent; // by Clock, as is the end
  private volatile long end;

  FixedLease(ConnectionSource source, String name, long token, Duration ttl, long sent) {
    this.source = source;
    this.name = name;
    this.token = token;
    this.sent = sent;
    end = sent + ttl.toNanos();
  }

  /** Returns the number for {@link Rowlock#fence}. */
  public long getToken() {
    return token;
  }

  /** Returns the time since the last successful call was sent; the sleep of the machine counts. */
  public Duration age() {
    return Duration.ofNanos(Clock.now() - sent);
  }

  /**
   * Extends the lease to a time from now; never shortens it.
   *
   * @throws LostException if the lease is lost
   */
  public void renew(Duration ttl) {
    long before = Clock.now();
    if (before - end >= 0) {
      throw new LostException(name, null);
    }
    try (Session session = new Session(source, name)) {
      session.call(Engine::renew, LIMIT, token, ttl.toMillis());
      end = Math.max(end - before, ttl.toNanos()) + before;
      sent = before;
    }
  }

  /** Ends the lease. */
  public boolean release() {
    try (Session session = new Session(source, name)) {
      return Engine.isTrue(session.call(Engine::release, LIMIT, token).get(0));
    }
  }
}
