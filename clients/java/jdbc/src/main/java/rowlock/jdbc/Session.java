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

/**
 * The calls of a lease, one after the other. Each one runs in a thread of its own, so that nobody
 * has to wait for a driver that hangs: a call that is overdue is given up, with its connection.
 */
final class Session implements AutoCloseable {
  static final Logger LOG = System.getLogger("rowlock");
  static final long SECOND = 1_000_000_000;
  private static final long WITHDRAW = 3 * SECOND / 2; // a call that leaves the queue
  private static final int CONNECTING = 4; // connections that are being opened, at most
  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(
          work -> {
            Thread thread = new Thread(null, work, "rowlock", 0, false);
            thread.setDaemon(true);
            return thread;
          });

  /** What a call does. */
  interface Work<T> {
    T on(Link link) throws SQLException;
  }

  private final Source source;
  private final String name;
  private final Semaphore connecting = new Semaphore(CONNECTING);
  private Link link; // of an own source, between two calls
  private Call<?> interrupted; // it is on its way
  private volatile boolean reached;

  Session(Source source, String name) {
    this.source = source;
    this.name = name;
  }

  /** Whether there was a connection at least once. */
  boolean reached() {
    return reached;
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
        call.enter(connecting, end);
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
    try {
      return call.answer.get(Math.max(0, end - Clock.now()), TimeUnit.NANOSECONDS);
    } catch (ExecutionException error) {
      throw Errors.meaning(error.getCause(), name);
    } catch (TimeoutException error) {
      call.giveUp();
      throw new UnavailableException(
          new SQLTimeoutException(call.hasBegun() ? "no answer in time" : "no connection in time"));
    } finally {
      link = call.take();
    }
  }

  /** A call in a thread. */
  private final class Call<T> implements Runnable {
    final CompletableFuture<T> answer = new CompletableFuture<>();
    private final Work<T> work;
    private final List<Semaphore> entered = new ArrayList<>();
    private volatile Link used = link; // null: none yet, or no more
    private Link left; // after it
    private boolean givenUp;

    Call(Work<T> work) {
      this.work = work;
    }

    void enter(Semaphore gate, long end) throws InterruptedException {
      if (!gate.tryAcquire(Math.max(0, end - Clock.now()), TimeUnit.NANOSECONDS)) {
        throw new UnavailableException(new SQLTimeoutException("other calls have no answer yet"));
      }
      entered.add(gate);
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
            used.prepare(name);
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
      if (entered.remove(connecting)) {
        connecting.release();
      }
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
      entered.forEach(Semaphore::release);
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

    /** Ends the connection, at once or as soon as it is open. */
    synchronized void giveUp() {
      givenUp = true;
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
