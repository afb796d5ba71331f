// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/** Opens a connection of its own for a lease: {@code () -> DriverManager.getConnection(url)}. */
@FunctionalInterface
public interface ConnectionSource {
  /**
   * Opens a connection. Rowlock keeps it while the lease is held, and closes it. It is called in
   * another thread; a connection that comes too late is closed.
   *
   * @throws SQLException if there is none
   */
  Connection open() throws SQLException;
}
