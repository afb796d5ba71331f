// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
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
    enter(gate, end);
    Call<T> call = null;
    try {
      if (link == null) {
        enter(connecting, end);
      }
      call = new Call<>(link, gate, work);
      link = null;
      THREADS.execute(call);
      return call;
    } catch (Throwable error) {
      if (call != null) {
        call.end(null, error);
        link = call.take();
      } else if (gate != null) {
        gate.release();
      }
      throw error;
    }
  }

  private void enter(Semaphore gate, long end) throws InterruptedException {
    if (gate != null && !gate.tryAcquire(Math.max(0, end - Clock.now()), TimeUnit.NANOSECONDS)) {
      throw new UnavailableException(new SQLTimeoutException("other calls have no answer yet"));
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
    private final Semaphore gate;
    private Link used;
    private boolean connects;
    private boolean givenUp;
    private boolean ended;

    Call(Link link, Semaphore gate, Work<T> work) {
      used = link;
      connects = link == null;
      this.gate = gate;
      this.work = work;
    }

    @Override
    public void run() {
      T result = null;
      Throwable failure = null;
      try {
        boolean fresh = used == null;
        if (begin(fresh ? Link.open(source) : used)) {
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
      stopConnecting();
      return !givenUp;
    }

    private void stopConnecting() {
      if (connects) {
        connects = false;
        connecting.release();
      }
    }

    synchronized boolean hasBegun() {
      return used != null;
    }

    private void end(T result, Throwable failure) {
      boolean broken = Errors.isGone(failure);
      synchronized (this) {
        stopConnecting();
        ended = source.isOwn() && !broken && !givenUp; // and the connection is kept
      }
      if (!ended && used != null) {
        used.close(broken);
      }
      synchronized (this) {
        used = ended ? used : null;
        ended = true;
      }
      if (gate != null) {
        gate.release();
      }
      if (failure == null) {
        answer.complete(result);
      } else {
        answer.completeExceptionally(failure);
      }
    }

    /** The connection that is left after it. */
    synchronized Link take() {
      Link left = answer.isDone() ? used : null;
      used = left == null ? used : null;
      return left;
    }

    /** Ends the connection, at once or as soon as it is open. */
    void giveUp() {
      Link kept;
      Link hanging;
      synchronized (this) {
        givenUp = true;
        kept = ended ? used : null;
        hanging = ended ? null : used;
        used = hanging;
      }
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
        request.answer.exceptionally(error -> null).get(SECOND, TimeUnit.NANOSECONDS);
        call(WITHDRAW, cancel);
      }
      return holder;
    } catch (InterruptedException | ExecutionException | TimeoutException error) {
      LOG.log(Level.DEBUG, "the request of {0} does not end", name);
      return null;
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
