// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import rowlock.jdbc.LeaseEvent.Kind;

/** The state of a lease, and the thread that renews it, announces its end, and releases it. */
final class Keeper {
  private static final long SECOND = Session.SECOND;
  private static final long RELEASE = 5 * SECOND; // the longest call that releases
  private static final long RENEWAL = 30 * SECOND; // and renews
  private static final long BACKGROUND = SECOND / 2; // how long an end after a loss may take
  private static final Set<Keeper> HELD = ConcurrentHashMap.newKeySet();

  final String name;
  final long token;
  private final Session session; // used by keep() only
  private final Duration ttl;
  private final long sent;
  private final Consumer<? super LeaseEvent> hook;
  private final CompletableFuture<Void> thread;
  private volatile long certain; // until then, by Clock
  private volatile LostException loss; // null: none
  private volatile boolean closed;
  private boolean dropped;
  private String failure = ""; // of the last renewal
  private List<Runnable> listeners = new ArrayList<>(); // null: they were called

  Keeper(
      Session session,
      String name,
      long token,
      Duration ttl,
      long sent,
      Consumer<? super LeaseEvent> hook) {
    this.session = session;
    this.name = name;
    this.token = token;
    this.ttl = ttl;
    this.sent = sent;
    this.hook = hook;
    certain = certain(sent, ttl);
    thread = CompletableFuture.runAsync(this::keep, this::startThread);
    HELD.add(this);
    thread.whenComplete((nothing, error) -> HELD.remove(this));
  }

  /** Until when a lease is certain: a margin before its end. */
  static long certain(long sent, Duration ttl) {
    long margin = Math.min(SECOND, Math.max(SECOND / 10, ttl.toNanos() / 10));
    return sent + ttl.toNanos() - margin;
  }

  static void tell(Consumer<? super LeaseEvent> hook, LeaseEvent event) {
    try {
      hook.accept(event);
    } catch (RuntimeException error) {
      Session.LOG.log(Level.WARNING, "an action for the lease of " + event.name(), error);
    }
  }

  private void startThread(Runnable work) {
    Thread started = new Thread(work, "rowlock " + name);
    started.setDaemon(true);
    started.start();
  }

  Duration remaining() {
    return Duration.ofNanos(loss != null || closed ? 0 : Math.max(0, certain - Clock.now()));
  }

  boolean isLost() {
    if (loss == null && !closed && remaining().isZero()) {
      long since = (Clock.now() - (certain - certain(0, ttl))) / SECOND;
      lose(LostException.ofLease(name, "not renewed for %d s%s".formatted(since, failure), null));
    }
    return loss != null;
  }

  void check() {
    if (isLost()) {
      throw loss();
    }
    if (closed) {
      throw LostException.ofReleased(name);
    }
  }

  /** A new exception, with the caller's stack. */
  private LostException loss() {
    return LostException.ofLease(name, loss.reason(), loss.getCause());
  }

  void onLost(Runnable action) {
    synchronized (this) {
      if (listeners != null) {
        listeners.add(action);
        return;
      }
    }
    action.run();
  }

  /** Releases once, and waits for that: after a loss only for a moment. */
  void close() {
    boolean late = isLost();
    if (!end(false)) {
      return;
    }
    CompletableFuture<Void> ended = thread.copy();
    if (late) {
      ended.completeOnTimeout(null, BACKGROUND, TimeUnit.NANOSECONDS);
      announce();
    }
    try {
      ended.join(); // also in an interrupted thread
    } catch (CompletionException error) {
      throw Errors.meaning(error.getCause(), name);
    }
    if (loss != null) {
      announce();
      throw loss();
    }
  }

  static void closeAll() {
    List<Keeper> held = List.copyOf(HELD);
    held.forEach(keeper -> keeper.end(false));
    for (Keeper keeper : held) {
      keeper
          .thread
          .copy()
          .completeOnTimeout(null, RELEASE, TimeUnit.NANOSECONDS)
          .exceptionally(error -> null)
          .join();
    }
  }

  /** Nobody has the lease any more, and nobody closed it. */
  void drop() {
    if (loss == null && end(true)) {
      Session.LOG.log(
          Level.WARNING,
          "a lease of ''{0}'' was dropped without close(): it is not renewed, and will expire",
          name);
    }
  }

  private synchronized boolean end(boolean drops) {
    if (closed) {
      return false;
    }
    closed = true;
    dropped = drops;
    notifyAll();
    return true;
  }

  // ---- the thread

  /** Sleeps until then; false if the lease has ended meanwhile. The machine may sleep, too. */
  private synchronized boolean sleepUntil(long time) {
    while (!closed && !isLost()) {
      long left = Math.min(time, certain) - Clock.now();
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

  private synchronized void lose(LostException why) {
    if (loss == null) {
      Session.LOG.log(Level.WARNING, "the lease of ''{0}'' is lost: {1}", name, why.reason());
      loss = why;
      notifyAll();
    }
  }

  private void announce() {
    List<Runnable> actions;
    synchronized (this) {
      if (listeners == null) {
        return;
      }
      actions = listeners;
      listeners = null;
    }
    tell(Kind.LOST);
    for (Runnable action : actions) {
      tell(event -> action.run(), null);
    }
  }

  private void tell(Kind kind) {
    Duration held = Duration.ofNanos(Clock.now() - sent);
    String reason = loss == null ? "" : loss.reason();
    tell(hook, new LeaseEvent(kind, name, token, held, reason));
  }

  private void keep() {
    try {
      renew();
      if (loss != null) {
        announce();
      }
      awaitClose();
      if (!dropped) {
        release();
      }
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
      long limit = Math.min(Math.min(Math.max(SECOND, third), RENEWAL), certain - before);
      try {
        session.call(limit, link -> link.run(link.engine().renew(), token, ttl.toMillis()));
        certain = certain(before, ttl);
        due = before + third;
        pauses = new Pauses();
        failure = "";
      } catch (LostException error) {
        lose(error);
      } catch (RuntimeException error) { // until the end
        Session.LOG.log(
            Level.WARNING,
            "a renewal of ''{0}'' failed, and is repeated: {1}",
            name,
            error.getMessage());
        failure = ": " + error.getMessage();
        due = Clock.now() + pauses.next();
      }
    }
  }

  private void release() {
    long limit = Math.min(RELEASE, Math.max(SECOND, ttl.toNanos() / 3));
    try {
      boolean ended;
      try {
        ended = session.call(limit, link -> link.release(token));
      } catch (UnavailableException error) { // once more; it may have been executed
        session.call(limit, link -> link.release(token));
        ended = true;
      }
      if (!ended) {
        lose(LostException.ofLease(name, "it had ended before its release", null));
      } else if (loss == null) {
        tell(Kind.RELEASED);
      }
    } catch (BusyException error) {
      throw new RowlockException(
          "the lease of '%s' was not released, and stays until it expires: a transaction that"
                  .formatted(name)
              + " called fence() is open; commit it before the lease's block ends",
          error);
    } catch (RowlockException error) { // it expires
      Session.LOG.log(Level.DEBUG, "release of {0}: {1}", name, error.getMessage());
    }
  }
}
