// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

/** The database has no rowlock schema, or one without these functions. */
public class NotInstalledException extends RowlockException {
  private static final long serialVersionUID = 1L;

  NotInstalledException(Throwable cause) {
    super(
        "no schema of rowlock here; call Rowlock.install, or run: rowlock schema install ("
            + cause.getMessage()
            + ")",
        cause);
  }
}
