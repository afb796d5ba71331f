// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

/**
 * The lease has expired, or was broken: stop the work that it protects. Or the transaction that
 * began a refresh ended before the refresh was complete.
 */
public class LostException extends RowlockException {
  private static final long serialVersionUID = 1L;

  private final String name;

  LostException(String name, Throwable cause) {
    this(name, "the lease of '%s' is lost: stop the work done under it", cause);
  }

  private LostException(String name, String text, Throwable cause) {
    super(text.formatted(name), cause);
    this.name = name;
  }

  static LostException ofRefresh(String subject, Throwable cause) {
    String text =
        "the refresh of '%s' is lost: the load ended its transaction;"
            + " roll back, and refresh again with a load that leaves it open";
    return new LostException(subject, text, cause);
  }

  /** Returns the name of the lease, or of the data that was to be refreshed. */
  public String getName() {
    return name;
  }
}
