// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.io.EOFException;
import java.net.SocketException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.util.HashMap;
import java.util.Map;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;

/** What a driver's error means. Its code decides; its class only if it has none. */
final class Errors {
  /** The codes of clients/errors.txt: SQLSTATEs, classes of them, and the numbers of MariaDB. */
  static final Map<String, String> CODES = new HashMap<>();

  private static void are(String meaning, String codes) {
    for (String code : codes.split(" ")) {
      CODES.put(code, meaning);
    }
  }

  static {
    are("lost", "RL005 30005");
    are("busy", "55P03 1205");
    are("missing", "42883 3F000 42P01 42703 1305 1146 1054 1356");
    are("gone", "08* 57P01 57P02 57P03 57P05 25P03 25P04 53200 53300");
    are("gone", "1040 1041 1053 1077 1079 1152 1158 1159 1160 1161 1203 1206 1226 1927 2002");
    are("gone", "2003 2005 2006 2012 2013 2055 3169 4031 5013 5014");
    are("refused", "RL* 22* 28* 3D000 42501 30001 30002 30003 30004 30006 30007 30008 30009");
    are("refused", "1044 1045 1049 1129 1130 1142 1227 1251 1264 1366 1370 1406 1698 1820 1862");
    are("refused", "2026 2059 3118 4151");
  }

  private Errors() {}

  /** A word of clients/errors.txt; "" if nothing is known. */
  static String judged(SQLException error) {
    String state = error.getSQLState() == null ? "" : error.getSQLState();
    String number = CODES.get(String.valueOf(error.getErrorCode()));
    if (number != null) {
      return number;
    }
    if (state.equals("08004") // PgJDBC cannot log in
        || state.equals("08001") && String.valueOf(error.getMessage()).startsWith("No suitable")
        || isRefusedByTls(error)) {
      return "refused";
    }
    if (state.isEmpty() && error.getErrorCode() <= 0) {
      return isOfConnection(error) ? "gone" : "";
    }
    String group = state.length() == 5 ? CODES.get(state.substring(0, 2) + "*") : null;
    return CODES.getOrDefault(state, group == null ? "" : group);
  }

  /** Of a pool without a free connection, or of a driver that gives no code. */
  private static boolean isOfConnection(SQLException error) {
    return error instanceof SQLTransientConnectionException
        || error instanceof SQLNonTransientConnectionException
        || error instanceof SQLRecoverableException
        || error instanceof SQLTimeoutException;
  }

  private static boolean isRefusedByTls(Throwable error) {
    Throwable tls = error;
    while (tls != null && !(tls instanceof SSLException)) {
      tls = tls.getCause();
    }
    return (tls instanceof SSLHandshakeException || tls instanceof SSLPeerUnverifiedException)
        && !(tls.getCause() instanceof EOFException || tls.getCause() instanceof SocketException);
  }

  /** Whether the session is gone, or never was: the statement may have been executed. */
  static boolean isGone(Throwable error) {
    return error instanceof SQLException known && judged(known).equals("gone");
  }

  /** Whether the same call may succeed later: a lock timed out, or the code is not judged. */
  static boolean passes(Throwable error) {
    boolean isCoded = error.getCause() instanceof SQLException known && known.getSQLState() != null;
    return error instanceof BusyException
        || isCoded && judged((SQLException) error.getCause()).isEmpty();
  }

  /** The exception of this package that an error means. */
  static RuntimeException meaning(Throwable error, String name) {
    if (error instanceof Error fatal) {
      throw fatal;
    }
    if (!(error instanceof SQLException known)) {
      return (RuntimeException) error;
    }
    String message = String.valueOf(known.getMessage());
    return switch (judged(known)) {
      case "lost" -> LostException.ofLease(name, reason(message), known);
      case "busy" -> new BusyException(name, holder(message), null, known);
      case "missing" -> new NotInstalledException(known);
      case "gone" -> new UnavailableException(known);
      default -> new RowlockException(message, known);
    };
  }

  private static String reason(String message) {
    return message
        .replaceFirst("(?s)^.*?rowlock: (the lease [0-9]+ (was )?)?", "")
        .replaceFirst("(?s)(: stop|\n).*", "");
  }

  private static String holder(String message) {
    String[] parts = message.split("held by ", 2);
    return parts.length > 1 ? parts[1].split("\n")[0] : null;
  }
}
