// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.function.Consumer;
import rowlock.jdbc.LeaseEvent.Kind;

/** What was requested, and the listener of what happens to it. */
record Terms(String name, Duration ttl, Consumer<? super LeaseEvent> hook) {
  /** Until when a lease is certain after a call: a margin before its end. */
  long certain(long sent) {
    long margin = Math.min(Session.SECOND, Math.max(Session.SECOND / 10, ttl.toNanos() / 10));
    return sent + ttl.toNanos() - margin;
  }

  void tell(Kind kind, long token, long since, String reason) {
    Duration duration = Duration.ofNanos(Clock.now() - since);
    run(() -> hook.accept(new LeaseEvent(kind, name, token, duration, reason)));
  }

  /** Runs an action of the application's. */
  void run(Runnable action) {
    try {
      action.run();
    } catch (Throwable error) { // also of Kotlin, whose exceptions are all unchecked
      Session.LOG.log(Level.WARNING, "an action for the lease of " + name, error);
    }
  }
}
