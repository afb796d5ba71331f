// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.time.Instant;
import java.util.List;

/**
 * Who holds a name. Each part but the kind and waiting is null if the database does not know it.
 *
 * @param kind "lease" or "transaction"
 * @param host of the program; of a transaction, of the client
 * @param pid of the program; of a transaction, the session of the server
 * @param program its name
 * @param since when it acquired the name, or its transaction began
 * @param note its text for others
 * @param waiting how many others wait for the name
 */
public record Holder(
    String kind, String host, Long pid, String program, Instant since, String note, long waiting) {

  /** Of a row of the statement holders; null if there is none. */
  static Holder of(List<Object> row) {
    if (row.isEmpty()) {
      return null;
    }
    return new Holder(
        text(row.get(0)),
        text(row.get(2)),
        row.get(1) instanceof Number pid ? Long.valueOf(pid.longValue()) : null,
        text(row.get(3)),
        row.get(4) == null ? null : Instant.parse(text(row.get(4))),
        text(row.get(6)),
        row.get(7) instanceof Number waiting ? waiting.longValue() : 0);
  }

  private static String text(Object value) {
    return value == null ? null : value.toString();
  }
}
