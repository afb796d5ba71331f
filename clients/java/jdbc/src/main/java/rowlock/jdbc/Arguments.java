// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The checks of arguments: an IllegalArgumentException before anything is sent. */
final class Arguments {
  private static final Duration LEAST_TTL = Duration.ofSeconds(1);
  private static final Duration MOST = Duration.ofDays(36525); // the server's longest ttl

  private Arguments() {}

  /** A name of 1 to 255 bytes. */
  static String name(String name) {
    return name(name, 255);
  }

  /** A name that the server prefixes: of a counter, or of data. */
  static String shortName(String name) {
    return name(name, 247);
  }

  static String name(String name, int most) {
    between("the length of the name in bytes", size("the name", name), 1, most);
    return name;
  }

  static int between(String what, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s must be from %d to %d, not %d".formatted(what, least, most, value));
    }
    return value;
  }

  /** A driver would send another character for half of a surrogate pair. */
  static int size(String what, String text) {
    if (text.indexOf(0) >= 0) { // PostgreSQL and the C library have none
      throw new IllegalArgumentException(what + " must not contain NUL");
    }
    try {
      return StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text)).remaining();
    } catch (CharacterCodingException error) {
      throw new IllegalArgumentException(what + " has half of a surrogate pair", error);
    }
  }

  static Duration ttl(Duration ttl) {
    if (ttl.compareTo(LEAST_TTL) < 0 || ttl.compareTo(MOST) > 0) {
      throw new IllegalArgumentException("the ttl must be from 1 s to 100 years, not " + ttl);
    }
    return ttl;
  }

  /** A limit of time; null if it has none, as one that nobody lives to see. */
  static Duration limit(Duration limit) {
    if (limit != null && limit.isNegative()) {
      throw new IllegalArgumentException("a time to wait must not be negative: " + limit);
    }
    return limit == null || limit.compareTo(MOST) > 0 ? null : limit;
  }

  /** In milliseconds, rounded up: a wait of a microsecond is not a refusal to wait. */
  static Long millis(Duration limit) {
    return limit == null ? null : Long.valueOf(limit.plusNanos(999_999).toMillis());
  }
}
