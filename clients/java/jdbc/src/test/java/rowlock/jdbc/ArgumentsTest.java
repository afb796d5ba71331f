// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Wrong arguments are refused before anything is sent. */
class ArgumentsTest {
  private static LeaseRequest request(String name) {
    ConnectionSource none =
        () -> {
          throw new AssertionError("something is sent");
        };
    return Rowlock.lease(none, name);
  }

  private static void isRefused(Consumer<LeaseRequest> change) {
    LeaseRequest request = request("x");
    assertThrows(IllegalArgumentException.class, () -> change.accept(request));
  }

  @Test
  void ofARequest() {
    isRefused(request -> request.ttl(Duration.ofMillis(999)));
    isRefused(request -> request.ttl(Duration.ofDays(36526)));
    isRefused(request -> request.ttl(Duration.ofSeconds(Long.MAX_VALUE)));
    isRefused(request -> request.waitAtMost(Duration.ofNanos(-1)));
    isRefused(request -> request.permits(0));
    isRefused(request -> request.note("half a pair: \ud83d"));
    isRefused(request -> request.note("\0"));
    isRefused(request -> request.shared().permits(2).acquire());
  }

  @Test
  void ofANameAreItsBytes() {
    request("ø".repeat(127) + "x");
    for (String name : new String[] {"", "ø".repeat(128), "\udd12"}) {
      assertThrows(IllegalArgumentException.class, () -> request(name), name);
      assertThrows(IllegalArgumentException.class, () -> Rowlock.lock(null, name), name);
      assertThrows(IllegalArgumentException.class, () -> Rowlock.fence(null, name, 1), name);
    }
    String longest = "x".repeat(248);
    assertThrows(IllegalArgumentException.class, () -> Rowlock.next(null, longest));
    assertThrows(
        IllegalArgumentException.class, () -> Rowlock.refresh(null, longest, null, () -> {}));
    Duration past = Duration.ofSeconds(-1);
    assertThrows(IllegalArgumentException.class, () -> Rowlock.lock(null, "x", past));
    assertThrows(IllegalArgumentException.class, () -> Rowlock.refresh(null, "x", past, () -> {}));
  }

  @Test
  void aHugeLimitIsNone() {
    assertNull(Arguments.limit(Duration.ofSeconds(Long.MAX_VALUE)));
    assertEquals(1, Arguments.millis(Duration.ofNanos(1)));
  }
}
