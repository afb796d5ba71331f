// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** A request for a lease: {@code Rowlock.lease(source, name).ttl(...).acquire()}. */
public final class LeaseRequest {
  private static final Duration SLICE = Duration.ofSeconds(3); // the longest wait of one call
  private static final Duration REPLY = Duration.ofSeconds(10); // beside that wait
  private static final Duration CANCEL = Duration.ofSeconds(2); // an interrupt takes SLICE and this

  // what others see of this process
  static final String HOST = host();
  static final long PID = ProcessHandle.current().pid();
  static final String PROGRAM =
      System.getProperty("sun.java.command", "java").split(" ")[0].replaceAll(".*/", "");

  private final ConnectionSource source;
  private final String name;
  private Duration ttl = Duration.ofSeconds(30);
  private Duration wait;
  private String mode = "exclusive";
  private Integer permits;
  private String note;

  LeaseRequest(ConnectionSource source, String name) {
    this.source = source;
    this.name = name;
  }

  /** Sets when the lease ends by itself if it is not renewed: after a holder's death. */
  public LeaseRequest ttl(Duration ttl) {
    this.ttl = ttl;
    return this;
  }

  /** Limits the wait in the queue. */
  public LeaseRequest waitAtMost(Duration wait) {
    this.wait = wait;
    return this;
  }

  /** Shares the name with other shared holders. */
  public LeaseRequest shared() {
    mode = "shared";
    return this;
  }

  /** Requests one of several permits of the name. */
  public LeaseRequest permits(int total) {
    mode = "permit";
    permits = total;
    return this;
  }

  /** Sets a text for those who look who holds the name. */
  public LeaseRequest note(String note) {
    this.note = note;
    return this;
  }

  /**
   * Acquires the lease, and renews it in the background until it is closed. An interrupt ends the
   * wait within 5 s, and leaves the queue.
   *
   * @throws BusyException if the name is held or waited for until the end of the wait
   * @throws WaitInterruptedException if the thread is interrupted
   */
  public Lease acquire() {
    return request(wait, (session, token, sent) -> new Lease(session, name, token, ttl, sent));
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
              (session, token, sent) -> {
                session.close();
                return new FixedLease(source, name, token, ttl, sent);
              }));
    } catch (BusyException error) {
      return Optional.empty();
    }
  }

  private interface Grant<T> {
    T to(Session session, long token, long sent);
  }

  /** Repeats one request with one owner, until it has a token that is still certain. */
  private <T> T request(Duration most, Grant<T> grant) {
    Session session = new Session(source, name);
    String owner = UUID.randomUUID().toString();
    Pauses pauses = new Pauses();
    long began = Clock.now();
    String holder = null;
    boolean repeated = false; // a lost reply is repeated at least once
    boolean granted = false;
    try {
      while (true) {
        if (Thread.currentThread().isInterrupted()) {
          throw new WaitInterruptedException(name);
        }
        long sent = Clock.now();
        long left = most == null ? Long.MAX_VALUE : most.toNanos() - (sent - began);
        long slice = Math.min(SLICE.toMillis(), Math.max(0, left) / 1_000_000);
        try {
          List<Object> row = send(session, owner, slice);
          if (row.get(0) instanceof Number token) {
            if (Clock.now() - Lease.certain(sent, ttl) >= 0) {
              throw new UnavailableException(
                  new SQLTimeoutException("the reply took longer than the ttl"));
            }
            T lease = grant.to(session, token.longValue(), sent);
            granted = true;
            return lease;
          }
          holder = row.get(3) == null ? holder : row.get(3).toString();
          boolean next = row.get(2) instanceof Number place && place.longValue() == 0;
          if (isOver(began, most) && !next) {
            throw new BusyException(name, holder, null);
          }
          pauses = new Pauses();
        } catch (UnavailableException error) {
          if (isOver(began, most) && repeated) {
            throw error;
          }
          repeated = true;
          Session.LOG.log(Level.DEBUG, "waiting for {0}: {1}", name, error.getMessage());
          pauses.sleep();
        }
      }
    } finally {
      if (!granted) {
        giveUp(session, owner);
      }
    }
  }

  private static boolean isOver(long began, Duration most) {
    return most != null && Clock.now() - began >= most.toNanos();
  }

  private List<Object> send(Session session, String owner, long slice) {
    Object[] values = {name, ttl.toMillis(), owner, slice, mode, permits, HOST, PID, PROGRAM, note};
    return session.call(Engine::request, REPLY.plusMillis(slice), values);
  }

  /** Leaves the queue, or releases; if that fails, a ticket is removed after 7 s. */
  private void giveUp(Session session, String owner) {
    boolean interrupted = Thread.interrupted(); // some drivers cannot work then
    try {
      session.call(Engine::cancel, interrupted ? CANCEL : REPLY, name, owner);
    } catch (RowlockException error) {
      Session.LOG.log(Level.DEBUG, "leaving the queue of {0}: {1}", name, error.getMessage());
    } finally {
      session.close();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
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
