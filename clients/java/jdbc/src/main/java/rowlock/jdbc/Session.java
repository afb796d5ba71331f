// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The calls of a lease, one after the other. Each one runs in a thread of its own, so that nobody
 * has to wait for a driver that hangs: a call that is overdue is given up, with its connection.
 */
final class Session implements AutoCloseable {
  static final Logger LOG = System.getLogger("rowlock");
  static final long SECOND = 1_000_000_000;
  private static final long WITHDRAW = 3 * SECOND / 2; // a call that leaves the queue
  static final long HURRY = 5 * SECOND; // the longest call after hurry()
  private static final int CONNECTING = 4; // connections that are being opened, at most
  private static final long ABANDONED = 60 * SECOND; // one given up counts for that long; each
  // one that hangs doubles it, so that a driver without a limit keeps few threads
  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(work -> daemon("rowlock", work, false));

  private static Thread daemon(String name, Runnable work, boolean inherits) {
    Thread thread = new Thread(null, work, name, 0, inherits);
    thread.setDaemon(true);
    return thread;
  }

  /** Runs an action in a thread of its own. */
  static CompletableFuture<Void> inThread(String name, Runnable action) {
    return CompletableFuture.runAsync(
        action, work -> daemon("rowlock " + name, work, true).start());
  }

  /** What a call does. */
  interface Work<T> {
    T on(Link link) throws SQLException;
  }

  private final Source source;
  private final String name;
  private final long abandoned;
  private final Semaphore connecting = new Semaphore(CONNECTING);
  private final AtomicInteger hanging = new AtomicInteger(); // that were given up as they opened
  private Link link; // of an own source, between two calls
  private Call<?> interrupted; // it is on its way
  private volatile boolean reached;
  private volatile boolean hurries;
  private volatile Call<?> awaited; // the last one

  Session(Source source, String name) {
    this(source, name, ABANDONED);
  }

  Session(Source source, String name, long abandoned) {
    this.source = source;
    this.name = name;
    this.abandoned = abandoned;
  }

  /** Whether there was a connection at least once. */
  boolean reached() {
    return reached;
  }

  /** From now on a call ends 5 s after its begin at the latest, also one that is on its way. */
  void hurry() {
    hurries = true;
    Call<?> call = awaited;
    if (call != null) {
      call.hurry();
    }
  }

  /** One call, for at most so many nanoseconds. UnavailableException: it may be executed. */
  <T> T call(long limit, Work<T> work) {
    boolean interrupt = Thread.interrupted();
    long end = Clock.now() + limit;
    Call<T> call = null;
    try {
      while (true) {
        try {
          call = call == null ? start(end, null, work) : call;
          return answer(call, end);
        } catch (InterruptedException error) {
          interrupt = true;
        }
      }
    } finally {
      if (interrupt) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** One call of a waiter. After an interrupt it is still on its way, until withdraw(). */
  <T> T callAsWaiter(long limit, Work<T> work) throws InterruptedException {
    long end = Clock.now() + limit;
    Call<T> call = start(end, source.gate(), work);
    try {
      return answer(call, end);
    } catch (InterruptedException error) {
      interrupted = call;
      throw error;
    }
  }

  private <T> Call<T> start(long end, Semaphore gate, Work<T> work) throws InterruptedException {
    Call<T> call = new Call<>(work);
    link = null;
    try {
      if (gate != null) {
        call.enter(gate, end);
      }
      if (!call.hasBegun()) {
        call.enter(connecting, Math.min(end, call.began + HURRY));
      }
      THREADS.execute(call);
      return call;
    } catch (Throwable error) {
      call.end(null, error);
      link = call.take();
      throw error;
    }
  }

  private <T> T answer(Call<T> call, long end) throws InterruptedException {
    awaited = call;
    if (hurries) {
      call.hurry();
    }
    try {
      return call.answer.get(Math.max(0, end - Clock.now()), TimeUnit.NANOSECONDS);
    } catch (ExecutionException error) {
      if (error.getCause() instanceof TimeoutException) { // of hurry()
        throw overdue(call);
      }
      throw Errors.meaning(error.getCause(), name);
    } catch (TimeoutException error) {
      throw overdue(call);
    } finally {
      link = call.take();
    }
  }

  private static UnavailableException overdue(Call<?> call) {
    call.giveUp();
    return new UnavailableException(
        new SQLTimeoutException(call.hasBegun() ? "no answer in time" : "no connection in time"));
  }

  /** A call in a thread. */
  private final class Call<T> implements Runnable {
    final CompletableFuture<T> answer = new CompletableFuture<>();
    final long began = Clock.now();
    private final Work<T> work;
    private final List<Semaphore> entered = new ArrayList<>();
    private volatile Link used = link; // null: none yet, or no more
    private Link left; // after it
    private boolean givenUp;
    private boolean hangs;

    Call(Work<T> work) {
      this.work = work;
    }

    void enter(Semaphore gate, long end) throws InterruptedException {
      if (!gate.tryAcquire(Math.max(0, end - Clock.now()), TimeUnit.NANOSECONDS)) {
        throw new UnavailableException(new SQLTimeoutException("other calls have no answer yet"));
      }
      entered.add(gate);
    }

    private synchronized void leave(Semaphore gate) {
      if (entered.remove(gate)) {
        gate.release();
      }
    }

    private synchronized void leaveConnecting() {
      leave(connecting);
      if (hangs) {
        hanging.decrementAndGet();
        hangs = false;
      }
    }

    void hurry() {
      answer.orTimeout(Math.max(0, began + HURRY - Clock.now()), TimeUnit.NANOSECONDS);
    }

    boolean hasBegun() {
      return used != null;
    }

    @Override
    public void run() {
      T result = null;
      Throwable failure = null;
      try {
        boolean fresh = used == null;
        if (begin(fresh ? new Link(source) : used)) {
          if (fresh) {
            used.prepare();
            reached = true;
          }
          result = work.on(used);
        }
      } catch (Throwable error) {
        failure = error;
      }
      end(result, failure);
    }

    /** False if nobody waits for it any more: nothing is sent. */
    private synchronized boolean begin(Link opened) {
      used = opened;
      leaveConnecting();
      return !givenUp;
    }

    private void end(T result, Throwable failure) {
      boolean broken = Errors.isGone(failure);
      synchronized (this) {
        if (source.isOwn() && !broken && !givenUp) {
          left = used;
          used = null;
        }
      }
      if (used != null) {
        used.close(broken);
        used = null;
      }
      leave(source.gate());
      leaveConnecting();
      if (failure == null) {
        answer.complete(result);
      } else {
        answer.completeExceptionally(failure);
      }
    }

    /** The connection that is left after it. */
    synchronized Link take() {
      Link taken = left;
      left = null;
      return taken;
    }

    /** Ends the connection, at once or as soon as it is open. Others may call by that pool. */
    synchronized void giveUp() {
      givenUp = true;
      leave(source.gate());
      if (entered.contains(connecting) && !hangs) { // a driver without a limit may never return
        hangs = true;
        long delay = abandoned << Math.min(10, hanging.getAndIncrement());
        CompletableFuture.delayedExecutor(delay, TimeUnit.NANOSECONDS, THREADS)
            .execute(() -> leave(connecting));
      }
      Link kept = take();
      Link hanging = used;
      if (kept != null) {
        THREADS.execute(() -> kept.close(false));
      } else if (hanging != null) { // a driver may connect in order to abort
        THREADS.execute(hanging::abort);
      }
    }
  }

  /**
   * Leaves the queue, or releases; if that fails, a ticket is removed after 7 s. Returns who holds
   * the name then, if that is asked for. The caller waits for it so many nanoseconds at most.
   */
  Holder withdraw(String owner, boolean asks, long most) {
    CompletableFuture<Holder> done =
        CompletableFuture.supplyAsync(() -> withdraw(owner, asks), THREADS);
    return done.exceptionally(
            error -> {
              LOG.log(Level.DEBUG, "leaving the queue of {0}: {1}", name, error);
              return null;
            })
        .completeOnTimeout(null, most, TimeUnit.NANOSECONDS)
        .join(); // also in an interrupted thread
  }

  /** A request that is still on its way may queue or acquire: it is withdrawn after its end. */
  private Holder withdraw(String owner, boolean asks) {
    Call<?> request = interrupted;
    interrupted = null;
    try {
      if (request != null && !request.hasBegun()) {
        request.giveUp(); // it will send nothing
        request = null;
      }
      Work<Holder> cancel =
          used -> {
            used.run(used.engine().cancel(), name, owner);
            return asks ? Holder.of(used.run(used.engine().holders(), name)) : null;
          };
      Holder holder = call(WITHDRAW, cancel);
      if (request != null) {
        request
            .answer
            .handle((answer, error) -> null)
            .completeOnTimeout(null, SECOND, TimeUnit.NANOSECONDS)
            .join();
        call(WITHDRAW, cancel);
      }
      return holder;
    } finally {
      if (request != null) {
        request.giveUp();
      }
      close();
    }
  }

  @Override
  public void close() {
    if (link != null) {
      link.close(false);
      link = null;
    }
  }
}
