// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

/** The name is held or waited for. */
public class BusyException extends RowlockException {
  private static final long serialVersionUID = 1L;
  private final String name;
  private final String holder;

  BusyException(String name, String holder, Throwable cause) {
    super(
        "could not acquire '%s': held by %s"
            .formatted(name, holder == null ? "another session" : holder),
        cause);
    this.name = name;
    this.holder = holder;
  }

  /** Returns the name that could not be acquired. */
  public String getName() {
    return name;
  }

  /** Describes who holds the name, since when, and the note. */
  public String getHolder() {
    return holder;
  }
}
