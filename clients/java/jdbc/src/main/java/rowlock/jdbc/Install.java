// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.nio.charset.StandardCharsets;
import java.sql.DriverManager;

/**
 * A program that installs rowlock's schema, with the driver beside it: {@code java -cp
 * rowlock-jdbc.jar:postgresql.jar rowlock.jdbc.Install jdbc:postgresql://db/shop}. Or it prints the
 * schema: {@code java -jar rowlock-jdbc.jar --print postgresql [ROLE]}.
 */
public final class Install {
  private static final String USAGE =
      """
      usage: java -cp rowlock-jdbc.jar:DRIVER.jar rowlock.jdbc.Install JDBC-URL
             java -jar rowlock-jdbc.jar --print postgresql|mariadb|mysql [ROLE]
      Creates rowlock's tables and functions, if they are missing; or prints the statements, with
      the GRANTs for another account.\
      """;

  private Install() {}

  /** Exit status 0; 1: it failed, and the standard error says why; 2: the arguments are wrong. */
  public static void main(String[] arguments) {
    System.exit(run(arguments));
  }

  static int run(String... arguments) {
    boolean prints = arguments.length > 0 && arguments[0].equals("--print");
    if (arguments.length < (prints ? 2 : 1) || arguments.length > (prints ? 3 : 1)) {
      System.err.println(USAGE);
      return 2;
    }
    try {
      if (prints) {
        String role = arguments.length == 3 ? arguments[2] : null;
        byte[] text = Rowlock.schema(arguments[1], role).getBytes(StandardCharsets.UTF_8);
        System.out.write(text, 0, text.length);
        System.out.flush();
      } else {
        boolean isNew = Rowlock.install(() -> DriverManager.getConnection(arguments[0]));
        System.out.println(isNew ? "rowlock is installed" : "rowlock is installed already");
      }
      return 0;
    } catch (RuntimeException error) {
      System.err.println("rowlock: " + error.getMessage());
      return 1;
    }
  }
}
