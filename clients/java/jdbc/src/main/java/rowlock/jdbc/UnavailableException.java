// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

/** The database does not answer. The statement may have been executed. */
public class UnavailableException extends RowlockException {
  private static final long serialVersionUID = 1L;

  UnavailableException(Throwable cause) {
    super("the database does not answer: " + cause.getMessage(), cause);
  }
}
