// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc.fake;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** The names, and what the functions of the server answer. */
final class FakeNames {
  private static final Duration FOREVER = Duration.ofDays(36_525);

  private static final class Held {
    long token;
    String owner;
    String mode;
    Integer limit;
    Instant since = Instant.now();
    Instant end;
    Object host;
    Object pid;
    Object program;
    Object note;
    String broken; // by whom
    final Set<Transaction> fences = new HashSet<>();
  }

  private final Map<String, List<Held>> leases = new HashMap<>();
  private final Map<String, List<String>> queues = new HashMap<>(); // of owners
  private final Map<String, Instant> alive = new HashMap<>(); // until then, of waiting owners
  private final Map<String, Map<Transaction, String>> locks = new HashMap<>(); // and their modes
  private final Map<String, Long> counters = new HashMap<>();
  private final Map<String, Instant> refreshed = new HashMap<>();
  private final Set<String> known = new HashSet<>(); // jobs
  private final Set<String> due = new HashSet<>();
  private final List<FakeDatabase.EndedRun> runs = new ArrayList<>();
  private long last;

  synchronized void hold(String name, String program) {
    Held held = new Held();
    held.token = ++last;
    held.mode = "exclusive";
    held.owner = "";
    held.program = program;
    held.end = held.since.plus(FOREVER);
    leasesOf(name).add(held);
  }

  synchronized void free(String name) {
    leasesOf(name).clear();
    notifyAll();
  }

  synchronized void breakLease(String name, String by) {
    leasesOf(name).forEach(held -> held.broken = by);
  }

  synchronized boolean isHeld(String name) {
    return !leasesOf(name).isEmpty() || locks.containsKey(name);
  }

  synchronized void makeDue(String job) {
    known.add(job);
    due.add(job);
  }

  synchronized List<FakeDatabase.EndedRun> runs() {
    return List.copyOf(runs);
  }

  private List<Held> leasesOf(String name) {
    List<Held> found = leases.computeIfAbsent(name, key -> new ArrayList<>());
    found.removeIf(held -> held.end.isBefore(Instant.now()) && held.fences.isEmpty());
    return found;
  }

  private List<String> queueOf(String name) {
    List<String> found = queues.computeIfAbsent(name, key -> new ArrayList<>());
    found.removeIf(owner -> alive.get(owner).isBefore(Instant.now()));
    return found;
  }

  private static String text(Held held) {
    return "a lease, pid %s on %s (%s), since %s%s"
        .formatted(
            held.pid,
            held.host,
            held.program,
            held.since,
            held.note == null ? "" : ", note: " + held.note);
  }

  private static SQLException lost(long token, String how) {
    return new SQLException("rowlock: the lease %d %s".formatted(token, how), "RL005");
  }

  /** A transaction of a connection, and then the next one. */
  final class Transaction {
    private final List<Runnable> undo = new ArrayList<>();

    void end(boolean commits) {
      synchronized (FakeNames.this) {
        if (!commits) {
          for (int i = undo.size(); i > 0; i--) {
            undo.get(i - 1).run();
          }
        }
        undo.clear();
        locks.values().forEach(holders -> holders.remove(this));
        locks.values().removeIf(Map::isEmpty);
        leases.values().forEach(all -> all.forEach(held -> held.fences.remove(this)));
        FakeNames.this.notifyAll();
      }
    }

    Object[] call(String function, Object[] v) throws SQLException {
      synchronized (FakeNames.this) {
        return switch (function) {
          case "request" -> request(v);
          case "renew" -> renew((Long) v[0], (Long) v[1]);
          case "cancel" -> cancel((String) v[0], (String) v[1]);
          case "release" -> release((Long) v[0]);
          case "claim" -> claim(v);
          case "finish" -> finish((Long) v[0], (String) v[1], (String) v[2]);
          case "fence" -> fence((String) v[0], (Long) v[1]);
          case "next" -> next((String) v[0]);
          case "refresh" -> refresh((String) v[0], (Long) v[1], (Long) v[2]);
          case "refreshed" -> complete((String) v[0]);
          case "holder" ->
              new Object[] {
                leasesOf((String) v[0]).stream().findFirst().map(FakeNames::text).orElse(null)
              };
          case "holders" -> holders((String) v[0]);
          case "server" -> new Object[] {"rowlock.jdbc.fake"}; // nothing to install
          case "exclusive", "shared" -> row(lock((String) v[0], function, null));
          case "try_exclusive", "try_shared" ->
              row(lock((String) v[0], function.substring(4), (Long) v[1]));
          default -> new Object[] {1};
        };
      }
    }

    private static Object[] row(Object value) {
      return new Object[] {value};
    }

    private boolean isFree(String name, String mode, Object limit) {
      List<Held> held = leasesOf(name);
      boolean excluded =
          held.stream().anyMatch(other -> mode.equals("exclusive") || !other.mode.equals(mode))
              || limit instanceof Integer most && held.size() >= most;
      boolean locked =
          locks.getOrDefault(name, Map.of()).entrySet().stream()
              .anyMatch(
                  lock ->
                      lock.getKey() != this
                          && !(mode.equals("shared") && lock.getValue().equals("shared")));
      return !excluded && !locked;
    }

    private Object[] request(Object[] v) {
      String name = (String) v[0];
      String owner = (String) v[2];
      for (Held held : leasesOf(name)) {
        if (held.owner.equals(owner)) {
          return new Object[] {held.token, null, null, null, 0};
        }
      }
      List<String> queue = queueOf(name);
      if (!queue.contains(owner)) {
        alive.put(owner, Instant.now().plusSeconds(7));
        queue.add(owner);
      }
      int place = queue.indexOf(owner) + 1;
      if (place == 1 && isFree(name, (String) v[4], v[5])) {
        leave(name, owner);
        Held held = grant(name, owner, (String) v[4], (Long) v[1], Arrays.copyOfRange(v, 6, 10));
        held.limit = (Integer) v[5];
        return new Object[] {held.token, null, null, null, 0};
      }
      alive.put(owner, Instant.now().plusSeconds(7));
      String holder = leasesOf(name).stream().findFirst().map(FakeNames::text).orElse(null);
      return new Object[] {null, 1, place, holder, 20};
    }

    private Held grant(String name, String owner, String mode, long ttl, Object[] about) {
      Held held = new Held();
      held.token = ++last;
      held.owner = owner;
      held.mode = mode;
      held.end = Instant.now().plusMillis(ttl);
      held.host = about[0];
      held.pid = about[1];
      held.program = about[2];
      held.note = about[3];
      leasesOf(name).add(held);
      return held;
    }

    private Object[] claim(Object[] v) {
      String job = (String) v[0];
      String name = "job:" + job;
      if (known.add(job)) {
        due.add(job);
      }
      boolean isDue = due.contains(job) && isFree(name, "exclusive", null);
      if (!isDue) {
        return new Object[] {null, null, null, "waiting", 20, null, null};
      }
      due.remove(job);
      Object[] about = Arrays.copyOfRange(v, 10, 14);
      Held held = grant(name, (String) v[2], "exclusive", (Long) v[3], about);
      long now = held.since.toEpochMilli();
      return new Object[] {held.token, now, 0, "claimed", 0, null, null};
    }

    private Object[] finish(long token, String outcome, String output) throws SQLException {
      Held held = find(token);
      boolean whole = held != null && held.broken == null;
      Optional<String> name =
          leases.keySet().stream().filter(one -> leasesOf(one).contains(held)).findFirst();
      release(token);
      if (whole) {
        String job = name.orElseThrow().substring("job:".length());
        runs.add(new FakeDatabase.EndedRun(job, outcome, output));
      }
      return row(whole);
    }

    private void leave(String name, String owner) {
      queueOf(name).remove(owner);
      alive.remove(owner);
    }

    private Held find(long token) {
      return leases.keySet().stream()
          .flatMap(name -> leasesOf(name).stream())
          .filter(held -> held.token == token)
          .findFirst()
          .orElse(null);
    }

    private Object[] renew(long token, long ttl) throws SQLException {
      Held held = find(token);
      if (held == null || held.broken != null) {
        throw lost(token, held == null ? "has expired" : "was broken by " + held.broken);
      }
      held.end = Instant.now().plusMillis(ttl);
      return row(null);
    }

    private Object[] cancel(String name, String owner) {
      if (queueOf(name).contains(owner)) {
        leave(name, owner);
      }
      boolean ended = leasesOf(name).removeIf(held -> held.owner.equals(owner));
      FakeNames.this.notifyAll();
      return row(ended);
    }

    private Object[] release(long token) throws SQLException {
      Held held = find(token);
      if (held != null && !held.fences.isEmpty()) {
        throw new SQLException("a transaction that called fence() is open", "55P03");
      }
      leases.values().forEach(all -> all.remove(held));
      FakeNames.this.notifyAll();
      return row(held != null);
    }

    private Object[] fence(String name, long token) throws SQLException {
      Held held = find(token);
      if (held == null || held.broken != null || !leasesOf(name).contains(held)) {
        throw lost(token, "has expired, or was broken");
      }
      held.fences.add(this);
      return row(null);
    }

    /** Null: without a limit. */
    private boolean lock(String name, String mode, Long millis) throws SQLException {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis == null ? 0 : millis);
      while (!isFree(name, mode, null)) {
        long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        if (millis != null && left <= 0) {
          return false;
        }
        try {
          FakeNames.this.wait(millis == null ? 100 : Math.min(left, 100));
        } catch (InterruptedException error) {
          Thread.currentThread().interrupt();
          throw new SQLException("interrupted", "57014", error);
        }
      }
      locks
          .computeIfAbsent(name, key -> new HashMap<>())
          .merge(this, mode, (had, now) -> had.equals("exclusive") ? had : now);
      return true;
    }

    private Object[] next(String counter) throws SQLException {
      lock("counter:" + counter, "exclusive", null);
      Long before = counters.get(counter);
      undo.add(() -> counters.put(counter, before));
      counters.put(counter, Objects.requireNonNullElse(before, 0L) + 1);
      return row(counters.get(counter));
    }

    private Object[] refresh(String name, Long maxAge, Long wait) throws SQLException {
      if (!isStale(name, maxAge)) {
        return row(null);
      }
      if (!lock("subject:" + name, "exclusive", wait)) {
        return row(0);
      }
      return row(isStale(name, maxAge) ? ++last : null);
    }

    private boolean isStale(String name, Long maxAge) {
      Instant made = refreshed.get(name);
      return made == null
          || maxAge != null && made.plusMillis(maxAge).compareTo(Instant.now()) <= 0;
    }

    private Object[] complete(String name) throws SQLException {
      if (!locks.getOrDefault("subject:" + name, Map.of()).containsKey(this)) {
        throw new SQLException("rowlock: the refresh is lost", "RL005");
      }
      Instant before = refreshed.get(name);
      undo.add(() -> refreshed.put(name, before));
      refreshed.put(name, Instant.now());
      return row(null);
    }

    private Object[] holders(String name) {
      for (Held held : leasesOf(name)) {
        return new Object[] {
          "lease",
          held.pid,
          held.host,
          held.program,
          held.since,
          null,
          held.note,
          queueOf(name).size()
        };
      }
      return locks.containsKey(name)
          ? new Object[] {"transaction", null, null, null, null, null, null, queueOf(name).size()}
          : new Object[0];
    }
  }
}
