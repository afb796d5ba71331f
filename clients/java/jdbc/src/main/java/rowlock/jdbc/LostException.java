// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

/** The lease has expired, or was broken: stop the work that it protects. */
public class LostException extends RowlockException {
  private static final long serialVersionUID = 1L;

  private final String name;

  LostException(String name, Throwable cause) {
    super("the lease of '%s' is lost: stop the work done under it".formatted(name), cause);
    this.name = name;
  }

  /** Returns the name of the lease. */
  public String getName() {
    return name;
  }
}
