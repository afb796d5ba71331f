// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.Semaphore;
import javax.sql.DataSource;

/**
 * Where connections come from. One of an own source is kept while the lease is held. One of a pool
 * is borrowed for each call, and only one waiter of this process at a time calls by its pool (the
 * gate): so a renewal waits for one other call at most.
 */
record Source(ConnectionSource connections, Semaphore gate) {
  private static final Map<DataSource, Semaphore> GATES =
      Collections.synchronizedMap(new WeakHashMap<>());

  static Source own(ConnectionSource connections) {
    return new Source(connections, null);
  }

  static Source pool(DataSource pool) {
    return new Source(
        pool::getConnection, GATES.computeIfAbsent(pool, key -> new Semaphore(1, true)));
  }

  boolean isOwn() {
    return gate == null;
  }
}
