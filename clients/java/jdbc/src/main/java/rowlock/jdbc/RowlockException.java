// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.sql.SQLException;

/** The base of all exceptions here; itself, any other error of the database. */
public class RowlockException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RowlockException(String message, Throwable cause) {
    super(message, cause);
  }

  /** Returns the database's code of the error. */
  public String getSqlState() {
    return getCause() instanceof SQLException error ? error.getSQLState() : null;
  }
}
