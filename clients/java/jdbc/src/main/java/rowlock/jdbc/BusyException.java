// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.util.Optional;

/** The name is held or waited for. */
public class BusyException extends RowlockException {
  private static final long serialVersionUID = 1L;
  private final String name;
  private final String text;
  private final transient Holder holder;

  BusyException(String name, String text, Holder holder, Throwable cause) {
    super(
        "could not acquire '%s': held by %s"
            .formatted(name, text == null ? "another session" : text),
        cause);
    this.name = name;
    this.text = text;
    this.holder = holder;
  }

  /** Returns the name that could not be acquired. */
  public String getName() {
    return name;
  }

  /** Describes who holds the name, since when, and the note. */
  public String getHolder() {
    return text;
  }

  /** Returns the same as fields; empty if the holder is unknown, or gone by now. */
  public Optional<Holder> holder() {
    return Optional.ofNullable(holder);
  }
}
