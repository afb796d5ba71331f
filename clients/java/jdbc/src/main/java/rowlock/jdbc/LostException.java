// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

/**
 * The lease has expired, was broken, or was released: stop the work that it protects. Or the
 * transaction that began a refresh ended before the refresh was complete.
 */
public class LostException extends RowlockException {
  private static final long serialVersionUID = 1L;

  private final String name;
  private final String reason;

  private LostException(String text, String name, String reason, Throwable cause) {
    super(text, cause);
    this.name = name;
    this.reason = reason;
  }

  static LostException ofLease(String name, String reason, Throwable cause) {
    String text = "the lease of '%s' is lost: stop the work done under it (%s)";
    return new LostException(text.formatted(name, reason), name, reason, cause);
  }

  static LostException ofReleased(String name) {
    String text = "the lease of '%s' was released".formatted(name);
    return new LostException(text, name, "it was released", null);
  }

  static LostException ofRefresh(String subject, Throwable cause) {
    String text =
        "the refresh of '%s' is lost: the load ended its transaction;"
            + " roll back, and refresh again with a load that leaves it open";
    return new LostException(
        text.formatted(subject), subject, "the load ended its transaction", cause);
  }

  /** Returns the name of the lease, or of the data that was to be refreshed. */
  public String getName() {
    return name;
  }

  /** Says how it was lost, such as "broken by ann@web3". */
  public String reason() {
    return reason;
  }
}
