// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** A database without functions of rowlock: the error gives advice, and nothing changes. */
class OtherDatabaseTest {
  private final List<String> calls = new ArrayList<>();

  private static <T> T stub(Class<T> type, Function<String, Object> answer) {
    return type.cast(
        Proxy.newProxyInstance(
            OtherDatabaseTest.class.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> answer.apply(method.getName())));
  }

  private Object answer(String method) {
    calls.add(method);
    return switch (method) {
      case "getMetaData" -> stub(DatabaseMetaData.class, name -> "SQLite");
      case "getAutoCommit" -> true;
      case "getNetworkTimeout" -> 30_000;
      default -> null;
    };
  }

  private void isRefused(Function<LeaseRequest, Object> attempt) {
    LeaseRequest request = Rowlock.lease(() -> stub(Connection.class, this::answer), "x");
    RowlockException refused = assertThrows(RowlockException.class, () -> attempt.apply(request));
    assertTrue(refused.getMessage().contains("SQLite"), refused.getMessage());
    assertTrue(refused.getMessage().contains("use the command rowlock"), refused.getMessage());
    assertTrue(calls.contains("close"));
    assertEquals(List.of(), calls.stream().filter(name -> name.startsWith("set")).toList());
  }

  @Test
  void aLease() {
    isRefused(LeaseRequest::acquire);
  }

  @Test
  void aLeaseThatNothingRenews() {
    isRefused(LeaseRequest::tryFixed);
  }
}
