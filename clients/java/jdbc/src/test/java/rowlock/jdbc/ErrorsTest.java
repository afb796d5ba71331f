// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

/** What the drivers' errors mean. */
class ErrorsTest {
  private static void means(Class<? extends RuntimeException> expected, SQLException error) {
    assertEquals(expected, Errors.meaning(error, "x").getClass(), error::toString);
  }

  @Test
  void theTableIsThatOfAllPackages() throws Exception {
    String path = System.getenv().getOrDefault("ROWLOCK_ERRORS", "../../errors.txt");
    Map<String, String> codes = new HashMap<>();
    for (String line : Files.readAllLines(Path.of(path))) {
      String[] words = line.split(" ");
      if (!line.startsWith("#") && words.length == 3) {
        codes.put(words[1], words[2]);
      }
    }
    assertEquals(codes, Errors.CODES);
  }

  @Test
  void theCodeDecidesBeforeTheClass() { // Connector/J of MariaDB has this class for any SQLSTATE
    means(
        RowlockException.class, new SQLTransientConnectionException("a wrong ttl", "RL003", 30003));
    means(LostException.class, new SQLTransientConnectionException("lost", "RL005", 30005));
    means(RowlockException.class, new SQLTransientConnectionException("other", "45000", 1644));
    means(RowlockException.class, new SQLNonTransientConnectionException("other", "08000", 1045));
    means(UnavailableException.class, new SQLException("too many", "08004", 1040));
    means(UnavailableException.class, new SQLException("was idle", "57P05"));
    means(RowlockException.class, new SQLException("unknown", "XX000"));
    means(BusyException.class, new SQLException("timeout", "HY000", 1205));
    means(NotInstalledException.class, new SQLException("no procedure", "42000", 1305));
  }

  @Test
  void theClassDecidesWithoutACode() {
    means(UnavailableException.class, new SQLTransientConnectionException("of a pool"));
    means(UnavailableException.class, new SQLNonTransientConnectionException("io", "08000", -1));
    means(RowlockException.class, new SQLException("unknown"));
  }

  @Test
  void aRefusalOfTheLoginOrOfTlsIsNotRepeated() {
    means(RowlockException.class, new SQLException("password", "28P01"));
    means(RowlockException.class, new SQLException("password", "28000", 1045));
    means(RowlockException.class, new SQLException("no password was provided", "08004"));
    SSLHandshakeException tls = new SSLHandshakeException("unknown authority");
    means(RowlockException.class, new SQLException("SSL", "08006", tls));
    tls.initCause(new EOFException());
    means(UnavailableException.class, new SQLException("SSL", "08006", tls));
  }

  @Test
  void whatMayPassIsAnErrorOfTheServerThatTheTableLacks() {
    for (SQLException error :
        List.of(
            new SQLException("only reads", "25006"),
            new SQLException("statement timeout", "57014"),
            new SQLException("lock timeout", "55P03"),
            new SQLException("--read-only", "HY000", 1290))) {
      assertTrue(Errors.passes(Errors.meaning(error, "x")), error::toString);
    }
    for (SQLException error :
        List.of(
            new SQLException("out of range", "22003"),
            new SQLException("out of range", "22003", 1264),
            new SQLException("a wrong schedule", "RL003"),
            new SQLException("no function", "42883"),
            new SQLException("a misuse of the driver"))) {
      assertFalse(Errors.passes(Errors.meaning(error, "x")), error::toString);
    }
    assertFalse(Errors.passes(new NullPointerException()));
  }

  @Test
  void theReasonOfALossIsTheServers() {
    for (String text :
        new String[] {
          "ERROR: rowlock: the lease 7 was broken by ann@web3\n  Hint: Stop the work",
          "(conn=5) rowlock: the lease 7 was broken by ann@web3: stop the work done under it"
        }) {
      LostException lost = (LostException) Errors.meaning(new SQLException(text, "RL005"), "x");
      assertEquals("broken by ann@web3", lost.reason());
    }
  }
}
