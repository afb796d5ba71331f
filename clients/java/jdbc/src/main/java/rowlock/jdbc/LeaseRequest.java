// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** A request for a lease: {@code Rowlock.lease(source, name).ttl(...).acquire()}. */
public final class LeaseRequest {
  private static final Duration SLICE = Duration.ofSeconds(5); // the longest wait of one call
  private static final Duration LIMIT = SLICE.plusSeconds(10); // for its reply

  // what others see of this process
  private static final String HOST = host();
  private static final long PID = ProcessHandle.current().pid();
  private static final String PROGRAM =
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
    Session session = new Session(source, name);
    String owner = UUID.randomUUID().toString();
    Pauses pauses = new Pauses();
    long began = System.nanoTime();
    String holder = null;
    boolean queued = true; // a call whose reply was lost may have queued
    try {
      while (true) {
        if (Thread.currentThread().isInterrupted()) {
          throw new WaitInterruptedException(name);
        }
        long sent = System.nanoTime();
        long left = wait == null ? Long.MAX_VALUE : Math.max(0, wait.toNanos() - (sent - began));
        long slice = Math.min(SLICE.toMillis(), left / 1_000_000);
        try {
          List<Object> row = request(session, owner, slice);
          if (row.get(0) != null) {
            queued = false;
            return new Lease(session, name, ((Number) row.get(0)).longValue(), ttl, sent);
          }
          holder = row.get(3) == null ? holder : row.get(3).toString();
          boolean next = row.get(2) instanceof Number place && place.longValue() == 0;
          if (isOver(began) && !next) {
            throw new BusyException(name, holder, null);
          }
          pauses = new Pauses();
        } catch (UnavailableException error) {
          if (isOver(began)) {
            throw error;
          }
          Session.LOG.log(Level.DEBUG, "waiting for {0}: {1}", name, error.getMessage());
          pauses.sleep();
        }
      }
    } finally {
      if (queued) {
        giveUp(session, owner);
      }
    }
  }

  /**
   * Makes one attempt, without a place in the queue. Nothing renews this lease, and it occupies no
   * connection.
   */
  public Optional<FixedLease> tryFixed() {
    Session session = new Session(source, name);
    try {
      long sent = System.nanoTime();
      Object token = session.answer(Engine::acquire, LIMIT, name, ttl.toMillis(), mode, permits);
      return Optional.ofNullable((Number) token)
          .map(t -> new FixedLease(source, name, t.longValue(), sent + ttl.toNanos()));
    } finally {
      session.close();
    }
  }

  private boolean isOver(long began) {
    return wait != null && System.nanoTime() - began >= wait.toNanos();
  }

  private List<Object> request(Session session, String owner, long slice) {
    Object[] values = {name, ttl.toMillis(), owner, slice, mode, permits, HOST, PID, PROGRAM, note};
    return session.call(Engine::request, LIMIT, values);
  }

  /** Leaves the queue; if that fails, the ticket is removed after 7 s. */
  private void giveUp(Session session, String owner) {
    boolean interrupted = Thread.interrupted(); // some drivers cannot work then
    try {
      session.call(Engine::cancel, LIMIT, name, owner);
    } catch (RowlockException error) {
      Session.LOG.log(Level.DEBUG, "leaving the queue of {0}: {1}", name, error.getMessage());
    } finally {
      session.close();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static String host() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException error) {
      return null; // the server shows the address
    }
  }
}
