// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.ref.Cleaner;
import java.sql.Connection;
import java.time.Duration;

/**
 * A lease that is held, until it is closed or lost. A thread renews it, and watches its end. It is
 * certain until the time before its last successful call was sent, and its ttl, by a monotonic
 * clock that counts the sleep of the machine. It counts as lost a little before that, whether or
 * not the database answers. All methods may be called from any thread.
 *
 * <p>A lease that the program drops without close() is not renewed any more, and expires.
 */
public final class Lease implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  private final Keeper keeper; // its thread does not keep this object alive
  private final Cleaner.Cleanable dropped;

  Lease(Keeper keeper) {
    this.keeper = keeper;
    dropped = CLEANER.register(this, keeper::drop);
  }

  /** Returns the name. */
  public String getName() {
    return keeper.terms.name();
  }

  /** Returns the number of this lease; that of a later lease of the name is greater. */
  public long getToken() {
    return keeper.token;
  }

  /** Returns for how long the lease is still certain. */
  public Duration remaining() {
    return keeper.remaining();
  }

  /** Tells whether the lease is lost. Asks only the clock. */
  public boolean isLost() {
    return keeper.isLost();
  }

  /**
   * Fails if the lease is not certain any more. Asks only the clock.
   *
   * @throws LostException if it is lost or closed
   */
  public void check() {
    keeper.check();
  }

  /**
   * Adds an action for the loss of the lease. It runs in a thread of the lease, before another
   * program can get it; at once in this thread if the lease is lost already.
   */
  public void onLost(Runnable action) {
    keeper.onLost(action);
  }

  /**
   * Keeps the lease valid until that connection's transaction ends. End it before close().
   *
   * @throws LostException if the lease is lost
   */
  public void fence(Connection connection) {
    keeper.check();
    Rowlock.fence(connection, keeper.terms.name(), keeper.token);
  }

  /**
   * Ends the lease.
   *
   * @throws LostException if it was lost before
   * @throws RowlockException if a transaction that called fence() is still open
   */
  @Override
  public void close() {
    try {
      keeper.close();
    } finally {
      dropped.clean();
    }
  }

  /** Shows the name, the token and the remaining time. */
  @Override
  public String toString() {
    String state = keeper.isLost() ? "lost" : remaining().toMillis() + " ms";
    return "Lease[%s, token %d, %s]".formatted(keeper.terms.name(), keeper.token, state);
  }
}
