// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * A lease that is held, until it is closed or lost. A thread renews it, and another one watches its
 * end. It is certain until the time before its last successful call was sent, and its ttl, by a
 * monotonic clock that counts the sleep of the machine. It counts as lost a little before that,
 * whether or not the database answers. All methods may be called from any thread.
 */
public final class Lease implements AutoCloseable {
  private static final long SECOND = 1_000_000_000;

  private final Session session; // used by keep() only
  private final String name;
  private final long token;
  private final Duration ttl;
  private final long sent;
  private final CompletableFuture<Void> keeper;
  private volatile long certain; // until then, by Clock
  private volatile boolean lost;
  private volatile boolean closed;
  private List<Runnable> listeners = new ArrayList<>(); // null: they were called

  Lease(Session session, String name, long token, Duration ttl, long sent) {
    this.session = session;
    this.name = name;
    this.token = token;
    this.ttl = ttl;
    this.sent = sent;
    certain = certain(sent, ttl);
    startThread(this::watch); // first: it ends by itself if there is no thread for the other one
    keeper = CompletableFuture.runAsync(this::keep, this::startThread);
  }

  /** Until when a lease is certain: a margin before its end. */
  static long certain(long sent, Duration ttl) {
    long margin = Math.min(SECOND, Math.max(SECOND / 10, ttl.toNanos() / 10));
    return sent + ttl.toNanos() - margin;
  }

  private void startThread(Runnable work) {
    Thread thread = new Thread(work, "rowlock " + name);
    thread.setDaemon(true);
    thread.start();
  }

  /** Returns the name. */
  public String getName() {
    return name;
  }

  /** Returns the number of this lease; that of a later lease of the name is greater. */
  public long getToken() {
    return token;
  }

  /** Returns for how long the lease is still certain. */
  public Duration remaining() {
    long left = lost || closed ? 0 : certain - Clock.now();
    return Duration.ofNanos(Math.max(0, left));
  }

  /** Tells whether the lease is lost. Asks only the clock. */
  public boolean isLost() {
    if (!lost && !closed && remaining().isZero()) {
      lose("it was not renewed in time");
    }
    return lost;
  }

  /**
   * Fails if the lease is not certain any more. Asks only the clock.
   *
   * @throws LostException if it is lost or closed
   */
  public void check() {
    if (isLost() || closed) {
      throw new LostException(name, null);
    }
  }

  /**
   * Adds an action for the loss of the lease. It runs in a thread of the lease, before another
   * program can get it; at once in this thread if the lease is lost already.
   */
  public void onLost(Runnable action) {
    synchronized (this) {
      if (listeners != null) {
        listeners.add(action);
        return;
      }
    }
    action.run();
  }

  /**
   * Keeps the lease valid until that connection's transaction ends.
   *
   * @throws LostException if the lease is lost
   */
  public void fence(Connection connection) {
    check();
    Rowlock.fence(connection, name, token);
  }

  /**
   * Ends the lease.
   *
   * @throws LostException if it was lost before
   */
  @Override
  public void close() {
    boolean late = isLost();
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      notifyAll();
    }
    // also in an interrupted thread; if the release hangs, the lease expires
    keeper.completeOnTimeout(null, ttl.toMillis(), TimeUnit.MILLISECONDS).join();
    if (late || lost) {
      announce();
      throw new LostException(name, null);
    }
  }

  // ---- the threads

  /** Sleeps until then; false if the lease has ended meanwhile. The machine may sleep, too. */
  private synchronized boolean sleepUntil(long time) {
    while (!closed && !isLost()) {
      long left = time - Clock.now();
      if (left <= 0) {
        return true;
      }
      pause(Math.min(SECOND, left) / 1_000_000 + 1);
    }
    return false;
  }

  private synchronized void awaitClose() {
    while (!closed) {
      pause(0);
    }
  }

  private synchronized void pause(long ms) {
    try {
      wait(ms);
    } catch (InterruptedException error) { // nobody has this thread
      Session.LOG.log(Level.DEBUG, "interrupted", error);
    }
  }

  private synchronized void lose(Object why) {
    Session.LOG.log(Level.DEBUG, "the lease of {0} is lost: {1}", name, why);
    lost = true;
    notifyAll();
  }

  private void announce() {
    List<Runnable> actions;
    synchronized (this) {
      actions = listeners == null ? List.of() : listeners;
      listeners = null;
    }
    for (Runnable action : actions) {
      try {
        action.run();
      } catch (RuntimeException error) {
        Session.LOG.log(Level.DEBUG, "an action for the loss of " + name + " failed", error);
      }
    }
  }

  /** Announces the end in time, also while a renewal hangs. */
  private void watch() {
    while (sleepUntil(certain)) {
      isLost(); // unless it was renewed meanwhile
    }
    if (lost) {
      announce();
    }
  }

  private void keep() {
    try {
      renew();
      awaitClose();
      release();
    } catch (RuntimeException error) { // it expires
      Session.LOG.log(Level.DEBUG, "release of {0}: {1}", name, error.getMessage());
    } finally {
      session.close();
    }
  }

  private void renew() {
    long third = ttl.toNanos() / 3;
    Pauses pauses = new Pauses();
    long due = sent + third;
    while (sleepUntil(due)) {
      long before = Clock.now();
      try {
        session.call(Engine::renew, limit(), token, ttl.toMillis());
        certain = certain(before, ttl);
        due = before + third;
        pauses = new Pauses();
      } catch (LostException error) {
        lose(error.getCause());
      } catch (RuntimeException error) { // until the end, by the watcher
        Session.LOG.log(Level.DEBUG, "renewal of {0}: {1}", name, error.getMessage());
        due = Clock.now() + pauses.next();
      }
    }
  }

  /** How long a reply may take: then a new connection is tried before the end. */
  private Duration limit() {
    return Duration.ofMillis(Math.max(1000, ttl.toMillis() / 3));
  }

  private void release() {
    boolean ended;
    try {
      ended = Engine.isTrue(session.call(Engine::release, limit(), token).get(0));
    } catch (UnavailableException error) { // once more; it may have been executed
      session.call(Engine::release, limit(), token);
      return;
    }
    if (!ended) {
      lose("it had ended before its release");
    }
  }
}
