// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

/** The thread was interrupted while it waited for a lease; its interrupt status is set. */
public class WaitInterruptedException extends RowlockException {
  private static final long serialVersionUID = 1L;

  WaitInterruptedException(String name) {
    super("interrupted while waiting for '%s'".formatted(name), null);
  }
}
