// SPDX-License-Identifier: Apache-2.0
package rowlock.shedlock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import rowlock.jdbc.ConnectionSource;
import rowlock.jdbc.FixedLease;
import rowlock.jdbc.LeaseRequest;
import rowlock.jdbc.LostException;
import rowlock.jdbc.Rowlock;
import rowlock.jdbc.RowlockException;

/**
 * ShedLock on leases. A lock is a lease of its name with a ttl of lockAtMostFor, at least 1 s. It
 * excludes {@code rowlock run NAME} too. A lock that is unlocked before lockAtLeastFor is released
 * later by a thread of this process; if the process ends before, it lasts until lockAtMostFor.
 */
public final class RowlockLockProvider implements ExtensibleLockProvider {
  private static final System.Logger LOG = System.getLogger("rowlock");
  private static final Duration LEAST = Duration.ofSeconds(1);
  private static final ScheduledExecutorService LATER =
      Executors.newSingleThreadScheduledExecutor(
          work -> {
            Thread thread = new Thread(work, "rowlock-shedlock");
            thread.setDaemon(true);
            return thread;
          });

  private final Function<String, LeaseRequest> request; // of a name

  /** A provider that borrows a connection for each call. */
  public RowlockLockProvider(DataSource pool) {
    request = name -> Rowlock.lease(pool, name);
  }

  /** A provider that opens a connection for each call. */
  public RowlockLockProvider(ConnectionSource source) {
    request = name -> Rowlock.lease(source, name);
  }

  @Override
  public Optional<SimpleLock> lock(LockConfiguration configuration) {
    return request
        .apply(configuration.getName())
        .ttl(ttl(configuration))
        .tryFixed()
        .map(lease -> new Lock(configuration, lease));
  }

  private static Duration ttl(LockConfiguration configuration) {
    Duration most = configuration.getLockAtMostFor();
    return most.compareTo(LEAST) < 0 ? LEAST : most;
  }

  private static final class Lock extends AbstractSimpleLock {
    private final FixedLease lease;

    Lock(LockConfiguration configuration, FixedLease lease) {
      super(configuration);
      this.lease = lease;
    }

    private long left(Duration duration) {
      return duration.minus(lease.age()).toNanos();
    }

    @Override
    protected void doUnlock() {
      long left = left(lockConfiguration.getLockAtLeastFor());
      if (left > 0) {
        LATER.schedule(this::releaseLater, left, TimeUnit.NANOSECONDS);
      } else {
        lease.release();
      }
    }

    private void releaseLater() {
      try {
        lease.release();
      } catch (RowlockException error) { // it expires
        LOG.log(System.Logger.Level.DEBUG, "release of " + lockConfiguration.getName(), error);
      }
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration newConfiguration) {
      if (left(lockConfiguration.getLockAtMostFor()) <= 0) {
        lease.release();
        return Optional.empty();
      }
      try {
        lease.renew(ttl(newConfiguration));
      } catch (LostException lost) {
        return Optional.empty();
      }
      return Optional.of(new Lock(newConfiguration, lease));
    }
  }
}
