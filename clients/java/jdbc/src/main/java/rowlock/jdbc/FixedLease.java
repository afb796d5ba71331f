// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.time.Duration;

/** A lease that nothing renews in the background: {@link LeaseRequest#tryFixed()}. */
public final class FixedLease {
  private final Source source;
  private final String name;
  private final long token;
  private volatile long sent; // by Clock, as is the end
  private volatile long end;

  FixedLease(Source source, Terms terms, long token, long sent) {
    this.source = source;
    name = terms.name();
    this.token = token;
    this.sent = sent;
    end = sent + terms.ttl().toNanos();
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
    long ttlMillis = Arguments.ttl(ttl).toMillis();
    long before = Clock.now();
    if (before - end >= 0) {
      throw LostException.ofLease(name, "it has expired", null);
    }
    try (Session session = new Session(source, name)) {
      session.call(LeaseRequest.REPLY, link -> link.run(link.engine().renew(), token, ttlMillis));
      end = Math.max(end - before, ttl.toNanos()) + before;
      sent = before;
    }
  }

  /** Ends the lease; false if it had ended. */
  public boolean release() {
    try (Session session = new Session(source, name)) {
      return session.call(LeaseRequest.REPLY, link -> link.end(link.engine().release(), token));
    }
  }

  /** Shows the name and the token. */
  @Override
  public String toString() {
    return "FixedLease[%s, token %d]".formatted(name, token);
  }
}
