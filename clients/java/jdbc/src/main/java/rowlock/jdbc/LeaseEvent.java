// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.time.Duration;

/**
 * What happens to a lease, for metrics and traces: {@link LeaseRequest#onEvent}.
 *
 * @param kind what happened
 * @param name the name
 * @param token the number of the lease; 0 if it was not acquired
 * @param duration since the lease was requested; after LOST and RELEASED, since it was acquired
 * @param reason of WAITED and LOST; else empty
 */
public record LeaseEvent(Kind kind, String name, long token, Duration duration, String reason) {
  /** What happened. */
  public enum Kind {
    /** The lease was acquired. */
    ACQUIRED,
    /** The request ended without the lease. */
    WAITED,
    /** The lease was lost. */
    LOST,
    /** The lease was released. */
    RELEASED
  }
}
