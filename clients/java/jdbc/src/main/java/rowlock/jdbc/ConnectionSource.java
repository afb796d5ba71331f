// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/** Opens a connection: {@code () -> DriverManager.getConnection(url)}, or a pool's. */
@FunctionalInterface
public interface ConnectionSource {
  /**
   * Opens a connection, or takes one from a pool. Rowlock closes it.
   *
   * @throws SQLException if there is none
   */
  Connection open() throws SQLException;
}
