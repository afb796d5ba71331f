// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import rowlock.jdbc.LeaseEvent.Kind;

/** A request for a lease: {@code Rowlock.lease(source, name).ttl(...).acquire()}. */
public final class LeaseRequest {
  private static final long SLICE = 5 * Session.SECOND; // the longest wait of one call
  static final long REPLY = 5 * Session.SECOND; // beside that wait, also with connecting
  private static final long GIVE_UP = 4 * Session.SECOND; // for leaving the queue

  // what others see of this process
  static final String HOST = host();
  static final long PID = ProcessHandle.current().pid();
  static final String PROGRAM =
      System.getProperty("sun.java.command", "java").split(" ")[0].replaceAll(".*/", "");

  private final Source source;
  private final String name;
  private Duration ttl = Duration.ofSeconds(30);
  private Duration wait;
  private boolean shared;
  private Integer permits;
  private String note;
  private Consumer<? super LeaseEvent> hook = event -> {};

  LeaseRequest(Source source, String name) {
    this.source = source;
    this.name = Arguments.name(name);
  }

  /** Sets when the lease ends by itself if it is not renewed: after a holder's death. */
  public LeaseRequest ttl(Duration ttl) {
    this.ttl = Arguments.ttl(ttl);
    return this;
  }

  /** Limits the wait in the queue, and for the database; zero: one attempt. */
  public LeaseRequest waitAtMost(Duration wait) {
    this.wait = Arguments.limit(wait);
    return this;
  }

  /** Shares the name with other shared holders. */
  public LeaseRequest shared() {
    shared = true;
    return this;
  }

  /** Requests one of several permits of the name. */
  public LeaseRequest permits(int total) {
    permits = Arguments.between("permits", total, 1, Integer.MAX_VALUE);
    return this;
  }

  /** Sets a text for those who look who holds the name. */
  public LeaseRequest note(String note) {
    Arguments.size("the note", note);
    this.note = note;
    return this;
  }

  /** Sets an action for what happens to the lease, such as to measure it. */
  public LeaseRequest onEvent(Consumer<? super LeaseEvent> action) {
    hook = action;
    return this;
  }

  /**
   * Acquires the lease, and renews it in the background until it is closed. An interrupt ends the
   * wait within 5 s, and leaves the queue.
   *
   * @throws BusyException if the name is held or waited for until the end of the wait
   * @throws UnavailableException if the database does not answer until then; without a limit, if it
   *     never did
   * @throws WaitInterruptedException if the thread is interrupted
   */
  public Lease acquire() {
    return request(
        wait, (session, terms, token, sent) -> new Lease(new Keeper(session, terms, token, sent)));
  }

  /**
   * Makes one attempt, without a wait. Nothing renews this lease, and it occupies no connection.
   *
   * @throws WaitInterruptedException if the thread is interrupted
   */
  public Optional<FixedLease> tryFixed() {
    try {
      return Optional.of(
          request(
              Duration.ZERO,
              (session, terms, token, sent) -> {
                session.close();
                return new FixedLease(source, terms, token, sent);
              }));
    } catch (BusyException error) {
      return Optional.empty();
    }
  }

  private interface Grant<T> {
    T to(Session session, Terms terms, long token, long sent);
  }

  private <T> T request(Duration most, Grant<T> grant) {
    if (shared && permits != null) {
      throw new IllegalArgumentException("shared() and permits() exclude each other");
    }
    return new Attempt<>(most, grant).run();
  }

  /** One request, which is repeated with one owner until it has a token that is certain. */
  private final class Attempt<T> {
    private final Session session = new Session(source, name);
    private final Terms terms = new Terms(name, ttl, hook);
    private final String owner = UUID.randomUUID().toString();
    private final long began = Clock.now();
    private final Duration most;
    private final Grant<T> grant;
    private String holder;
    private boolean repeated; // a lost reply is repeated at least once

    Attempt(Duration most, Grant<T> grant) {
      this.most = most;
      this.grant = grant;
    }

    T run() {
      try {
        T lease = repeat();
        if (lease != null) {
          return lease;
        }
      } catch (InterruptedException error) {
        session.withdraw(owner, false, GIVE_UP);
        Thread.currentThread().interrupt();
        throw inVain(new WaitInterruptedException(name));
      } catch (RuntimeException | Error error) {
        session.withdraw(owner, false, Keeper.BACKGROUND);
        inVain(error);
        throw error;
      }
      Holder fields = session.withdraw(owner, true, GIVE_UP);
      throw inVain(new BusyException(name, holder, fields, null));
    }

    private <E extends Throwable> E inVain(E error) {
      terms.tell(Kind.WAITED, 0, began, error.getMessage());
      return error;
    }

    private long left() {
      return most == null ? Long.MAX_VALUE : most.toNanos() - (Clock.now() - began);
    }

    /** The lease; null: busy. */
    private T repeat() throws InterruptedException {
      Pauses pauses = new Pauses();
      while (true) {
        long pause;
        try {
          long sent = Clock.now();
          Answer answer =
              session.callAsWaiter((source.isOwn() ? sliceNow() : 0) + REPLY, this::send);
          if (answer.token() != 0) {
            return granted(answer.token(), sent);
          }
          holder = answer.holder() == null ? holder : answer.holder();
          if (left() <= 0 && answer.place() != 0) {
            return null;
          }
          pauses = new Pauses();
          pause = answer.pause();
        } catch (UnavailableException error) {
          if (isFinal()) {
            throw error;
          }
          repeated = true;
          Session.LOG.log(
              Level.WARNING,
              "a request for ''{0}'' failed, and is repeated: {1}",
              name,
              error.getMessage());
          pause = pauses.next();
        }
        TimeUnit.NANOSECONDS.sleep(Math.min(pause, Math.max(0, left())));
      }
    }

    private boolean isFinal() {
      boolean none = !session.reached();
      return most == null && none
          || left() <= 0 && (repeated || none)
          || left() <= Keeper.BACKGROUND - REPLY;
    }

    private long sliceNow() {
      return Math.min(SLICE, Math.max(0, left()));
    }

    private Answer send(Link link) throws SQLException {
      long slice = link.waits() ? sliceNow() : 0;
      String mode = permits != null ? "permit" : shared ? "shared" : "exclusive";
      List<Object> row =
          link.run(
              link.engine().request(),
              name,
              ttl.toMillis(),
              owner,
              slice / 1_000_000,
              mode,
              permits,
              HOST,
              PID,
              PROGRAM,
              note);
      // a session that waits inside the server makes no pauses; others differ in theirs
      double share = link.waits() ? 0 : ThreadLocalRandom.current().nextDouble(0.75, 1);
      return new Answer(
          number(row.get(0), 0),
          number(row.get(2), -1),
          row.get(3) == null ? null : row.get(3).toString(),
          (long) (number(row.get(4), 0) * share * 1_000_000));
    }

    private T granted(long token, long sent) {
      if (Clock.now() - terms.certain(sent) >= 0) {
        throw new UnavailableException(
            new SQLTimeoutException("the reply took longer than the ttl"));
      }
      T lease = grant.to(session, terms, token, sent);
      terms.tell(Kind.ACQUIRED, token, began, "");
      return lease;
    }
  }

  /** Of the server; token 0: none. */
  private record Answer(long token, long place, String holder, long pause) {}

  static long number(Object value, long otherwise) {
    return value instanceof Number number ? number.longValue() : otherwise;
  }

  /** The machine's name, on Linux the kernel's: Java's own way asks DNS, and may get none. */
  private static String host() {
    Path kernel = Path.of("/proc/sys/kernel/hostname");
    try {
      return Files.exists(kernel)
          ? Files.readString(kernel).strip()
          : InetAddress.getLocalHost().getHostName();
    } catch (IOException error) {
      return null; // the server shows the address
    }
  }
}
