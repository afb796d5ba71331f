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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import rowlock.jdbc.LeaseEvent.Kind;

/** The state of a lease, and the thread that renews it, announces its end, and releases it. */
final class Keeper {
  private static final long SECOND = Session.SECOND;
  private static final long RELEASE = Session.HURRY; // the longest call that releases
  private static final long FENCED = 2 * SECOND; // and the shortest: the server waits for a second
  private static final long RENEWAL = 30 * SECOND; // and renews
  static final long BACKGROUND = SECOND / 2; // how long an end after a loss may take
  private static final Set<Keeper> HELD = ConcurrentHashMap.newKeySet();

  final Terms terms;
  final long token;
  private final Session session; // used by keep() only
  final long acquired; // when its request was sent
  private final CompletableFuture<Void> thread;
  private final CompletableFuture<Boolean> closing = new CompletableFuture<>(); // true: dropped
  private final AtomicBoolean closed = new AtomicBoolean(); // by its holder
  volatile Session.Work<Boolean> ending; // the call that ends it; false: it had ended before
  volatile boolean repeats; // that call has a result, and is repeated as long as the lease lasts
  private volatile long proven; // when the last successful call was sent
  private volatile LostException loss; // null: none
  private volatile String failure = ""; // of the last renewal
  private List<Runnable> listeners = new ArrayList<>(); // null: they were called

  Keeper(Session session, Terms terms, long token, long sent) {
    this.session = session;
    this.terms = terms;
    this.token = token;
    acquired = sent;
    proven = sent;
    ending = link -> link.end(link.engine().release(), token);
    closing.thenRun(session::hurry);
    thread = Session.inThread(terms.name(), this::keep);
    HELD.add(this);
    thread.whenComplete((nothing, error) -> HELD.remove(this));
  }

  Duration remaining() {
    boolean ended = loss != null || closing.isDone();
    return Duration.ofNanos(ended ? 0 : Math.max(0, terms.certain(proven) - Clock.now()));
  }

  boolean isLost() {
    long now = Clock.now(); // not remaining(), which another thread's close() makes 0
    if (loss == null && !closing.isDone() && now - terms.certain(proven) >= 0) {
      lose("not renewed for %d s%s".formatted((now - proven) / SECOND, failure), null);
    }
    return loss != null;
  }

  void check() {
    if (isLost()) {
      throw loss();
    }
    if (closing.isDone()) {
      throw LostException.ofReleased(terms.name());
    }
  }

  /** A new exception, with the caller's stack. */
  private LostException loss() {
    return LostException.ofLease(terms.name(), loss.reason(), loss.getCause());
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
    if (closed.getAndSet(true)) {
      return;
    }
    closing.complete(false);
    CompletableFuture<Void> ended = thread.copy();
    if (late) {
      ended.completeOnTimeout(null, BACKGROUND, TimeUnit.NANOSECONDS);
      announce();
    }
    try {
      ended.join(); // also in an interrupted thread
    } catch (CompletionException error) {
      throw Errors.meaning(error.getCause(), terms.name());
    }
    if (loss != null) {
      announce();
      throw loss();
    }
  }

  static void closeAll() {
    await(HELD.stream().map(held -> held.revoke("released by releaseAll")).toList(), RELEASE);
  }

  /** Waits for their ends, also in an interrupted thread, for so many nanoseconds at most. */
  static void await(List<CompletableFuture<Void>> all, long most) {
    CompletableFuture.allOf(all.toArray(CompletableFuture[]::new))
        .completeOnTimeout(null, most, TimeUnit.NANOSECONDS)
        .exceptionally(error -> null)
        .join();
  }

  /** Announces its end to a body that may still run, and releases. */
  CompletableFuture<Void> revoke(String why) {
    if (!closed.get()) {
      lose(why, null);
    }
    repeats = false;
    return Session.inThread(terms.name(), this::announce)
        .thenRun(() -> closing.complete(false))
        .thenCompose(nothing -> thread);
  }

  /** Nobody has the lease any more. */
  void drop() {
    if (closing.complete(true) && loss == null) {
      String text = "a lease of ''{0}'' was dropped without close(): nothing renews it any more";
      Session.LOG.log(Level.WARNING, text, terms.name());
    }
  }

  private synchronized void lose(String reason, Throwable cause) {
    if (loss == null) {
      Session.LOG.log(Level.WARNING, "the lease of ''{0}'' is lost: {1}", terms.name(), reason);
      loss = LostException.ofLease(terms.name(), reason, cause);
    }
  }

  // ---- the thread

  /** Sleeps until then; false if the lease has ended meanwhile. The machine may sleep, too. */
  private boolean sleepUntil(long time) {
    while (!closing.isDone() && !isLost()) {
      long left = Math.min(time, terms.certain(proven)) - Clock.now();
      if (left <= 0) {
        return true;
      }
      try {
        closing.get(Math.min(SECOND, left), TimeUnit.NANOSECONDS);
      } catch (InterruptedException | ExecutionException | TimeoutException error) {
        continue; // nobody has this thread
      }
    }
    return false;
  }

  /** Tells of the loss, if it is lost, and nobody has told it. */
  private void announce() {
    List<Runnable> actions;
    synchronized (this) {
      if (loss == null || listeners == null) {
        return;
      }
      actions = listeners;
      listeners = null;
    }
    terms.tell(Kind.LOST, token, acquired, loss.reason());
    actions.forEach(terms::run);
  }

  private void keep() {
    try {
      renew();
      announce();
      if (!closing.join()) {
        release();
      }
    } finally {
      session.close();
    }
  }

  private void renew() {
    long third = terms.ttl().toNanos() / 3;
    Pauses pauses = new Pauses();
    long due = proven + third;
    while (sleepUntil(due)) {
      long before = Clock.now();
      long limit =
          Math.min(Math.min(Math.max(SECOND, third), RENEWAL), terms.certain(proven) - before);
      try {
        session.call(limit, link -> link.run(link.engine().renew(), token, terms.ttl().toMillis()));
        proven = before;
        due = before + third;
        pauses = new Pauses();
        failure = "";
      } catch (LostException error) {
        lose(error.reason(), error.getCause());
      } catch (RuntimeException | Error error) { // until the end; such as no memory for a thread
        String text = "a renewal of ''{0}'' failed, and is repeated: {1}";
        Session.LOG.log(Level.WARNING, text, terms.name(), error.getMessage());
        failure = ": " + error.getMessage();
        due = Clock.now() + pauses.next();
      }
    }
  }

  private void release() {
    try {
      if (!end()) {
        lose("it had ended before its release", null);
      } else if (loss == null) {
        terms.tell(Kind.RELEASED, token, acquired, "");
      }
    } catch (BusyException error) {
      String text =
          "the lease of '%s' was not released, and stays until it expires: a transaction that"
              + " called fence() is open; commit it before the lease's block ends";
      throw new RowlockException(text.formatted(terms.name()), error);
    } catch (RowlockException | Error error) { // it expires
      Level level = repeats ? Level.WARNING : Level.DEBUG;
      String text = "could not record the end of ''{0}'': {1}";
      Session.LOG.log(level, text, terms.name(), error.getMessage());
    }
  }

  /** Sends its end, twice if need be, and a result as long as the lease lasts. */
  private boolean end() {
    long limit = Math.min(RELEASE, Math.max(FENCED, terms.ttl().toNanos() / 3));
    Pauses pauses = new Pauses();
    for (boolean sent = false; ; sent = true) {
      try {
        return session.call(limit, ending) || sent && !repeats; // the first may have ended it
      } catch (UnavailableException error) {
        if (sent && !(repeats && loss == null && terms.certain(proven) - Clock.now() > 0)) {
          throw error;
        }
        String text = "could not record the end of ''{0}'', and sends it again: {1}";
        Session.LOG.log(sent ? Level.DEBUG : Level.WARNING, text, terms.name(), error.getMessage());
        LockSupport.parkNanos(pauses.next());
      }
    }
  }
}
