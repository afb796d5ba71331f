// SPDX-License-Identifier: Apache-2.0
package rowlock.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Installs rowlock's schema: by the text of `rowlock schema print`, which the package contains. */
final class Schema {
  private static final String FAKE = "rowlock.jdbc.fake"; // which needs none
  private static final List<String> DIALECTS = List.of("postgresql", "mariadb", "mysql");
  private static final long LIMIT = 300_000_000_000L; // the text waits for another installer
  private static final Pattern GRANTS =
      Pattern.compile("^-- GRANTs.*^-- end of GRANTs\n", Pattern.DOTALL | Pattern.MULTILINE);
  private static final Pattern VERSION =
      Pattern.compile("^-- rowlock's schema, version ([0-9]+)", Pattern.MULTILINE);
  private static final Pattern ACCOUNT =
      Pattern.compile("([A-Za-z_][A-Za-z0-9_]{0,62})(?:@([A-Za-z0-9._%:-]+))?");

  private final Source source;
  private final String dialect;
  private final String text;
  private final int wanted;

  private Schema(Source source, String server) {
    this.source = source;
    dialect = dialectOf(server);
    text = text(dialect, null);
    Matcher version = VERSION.matcher(text);
    version.find();
    wanted = Integer.parseInt(version.group(1));
  }

  static String text(String dialect, String role) {
    if (!DIALECTS.contains(dialect)) {
      throw new IllegalArgumentException("the dialect must be one of " + DIALECTS);
    }
    String text = packed(dialect);
    if (role == null) {
      return GRANTS.matcher(text).replaceFirst("");
    }
    Matcher account = ACCOUNT.matcher(role);
    if (!account.matches() || account.group(2) != null && dialect.equals("postgresql")) {
      throw new IllegalArgumentException(
          "'%s' is not a plain name of an account: edit the GRANTs".formatted(role));
    }
    String quoted = "'" + account.group(1) + "'@'" + account.group(2) + "'";
    String name = account.group(2) == null ? role : quoted;
    return text.replaceAll("\\bapplication\\b", Matcher.quoteReplacement(name));
  }

  private static String packed(String name) {
    try (InputStream file = Schema.class.getResourceAsStream("schema/" + name + ".sql")) {
      if (file != null) {
        return new String(file.readAllBytes(), StandardCharsets.UTF_8);
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    throw new RowlockException(
        "this package was built without the schema: run make client-schemas in rowlock's source"
            + " and build it again; or run: rowlock schema install",
        null);
  }

  /**
   * Elsewhere than on PostgreSQL, by the rules of the client mariadb and src/driver: a statement
   * ends with the delimiter, at the end of a line; a line DELIMITER x changes it; a line that
   * begins with -- is a comment.
   */
  static List<String> statements(String dialect, String text) {
    if (dialect.equals("postgresql")) {
      return List.of(text);
    }
    List<String> found = new ArrayList<>();
    List<String> lines = new ArrayList<>();
    String delimiter = ";";
    for (String line : text.split("\n")) {
      if (line.startsWith("DELIMITER ")) {
        delimiter = line.substring("DELIMITER ".length());
      } else if (line.endsWith(delimiter) && !line.startsWith("--")) {
        lines.add(line.substring(0, line.length() - delimiter.length()));
        found.add(String.join("\n", lines));
        lines.clear();
      } else if (!line.startsWith("--") && !(line.isEmpty() && lines.isEmpty())) {
        lines.add(line);
      }
    }
    return found;
  }

  private static String dialectOf(String server) {
    if (!server.startsWith("PostgreSQL")) {
      return server.contains("MariaDB") ? "mariadb" : "mysql";
    }
    if (server.contains("-YB-")) {
      throw new RowlockException("on YugabyteDB run: rowlock schema install", null);
    }
    return "postgresql";
  }

  static boolean install(Source source) {
    String server = server(source);
    return !server.equals(FAKE) && new Schema(source, server).install();
  }

  static void verify(Source source) {
    String server = server(source);
    if (!server.equals(FAKE)) {
      new Schema(source, server).verify();
    }
  }

  private static String server(Source source) {
    return ask(source, Session.HURRY, link -> (String) link.run(link.engine().server()).get(0));
  }

  private boolean install() {
    try {
      return !isCurrent() && bring();
    } catch (RowlockException error) {
      if (error.getCause() instanceof SQLException known
          && Errors.judged(known).equals("refused")) {
        String sql = packed(dialect + "-needs");
        String needs = ask(source, Session.HURRY, link -> (String) link.run(sql).get(0));
        throw new RowlockException(
            ("could not install rowlock's schema: %s; %s;"
                    + " or run the text of Rowlock.schema(\"%s\", ACCOUNT)")
                .formatted(known.getMessage(), needs, dialect),
            known);
      }
      throw error;
    }
  }

  private boolean bring() {
    try {
      return ask(
          source,
          LIMIT,
          link -> {
            link.script(statements(dialect, text));
            return true;
          });
    } catch (RowlockException error) {
      if (isCurrent()) {
        return false; // another program was first
      }
      throw error;
    }
  }

  private boolean isCurrent() {
    try {
      verify();
      return true;
    } catch (NotInstalledException error) {
      return false;
    }
  }

  private void verify() {
    List<Object> row = ask(source, Session.HURRY, link -> link.run(link.engine().version()));
    int found = row.isEmpty() ? 0 : ((Number) row.get(0)).intValue();
    if (found == 0) {
      throw new NotInstalledException(new SQLException("an install was interrupted"));
    }
    // each version of the schema serves the packages of the version before, and the reverse
    int oldest = Math.max(wanted - 1, 1);
    int newest = wanted + 1;
    if (found < oldest || found > newest) {
      throw new RowlockException(
          "the schema is version %d, this package works with %d to %d; "
                  .formatted(found, oldest, newest)
              + (found < wanted ? "run: rowlock schema upgrade" : "use a newer package"),
          null);
    }
  }

  /** One call, on a session of its own. */
  private static <T> T ask(Source source, long limit, Session.Work<T> work) {
    try (Session session = new Session(source, "the schema")) {
      return session.call(limit, work);
    }
  }
}
