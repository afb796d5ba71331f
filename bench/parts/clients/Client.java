// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.UUID;
import rowlock.jdbc.Lease;
import rowlock.jdbc.Rowlock;

/** The measured client in Java; bench/parts/run describes its commands and its output. */
public final class Client {
  private static final String REQUEST =
      """
      SELECT token, ticket, place, holder FROM rowlock.request(?::text,
          ?::bigint * interval '1 ms', ?::text, ?::bigint * interval '1 ms', ?::text,
          ?::integer, ?::text, ?::bigint, ?::text, ?::text)\
      """;
  private static Connection kept; // by all leases, as of a pool
  private static String host;

  private interface Way {
    void take(String name) throws Exception;
  }

  private static void ours(String name) {
    try (Lease lease = Rowlock.lease(() -> kept, name).acquire()) {
      lease.check();
    }
  }

  private static Object one(String sql, Object... values) throws Exception {
    try (PreparedStatement statement = kept.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        statement.setObject(i + 1, values[i]);
      }
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        return rows.getObject(1);
      }
    }
  }

  private static void byHand(String name) throws Exception {
    String owner = UUID.randomUUID().toString().replace("-", "");
    long pid = ProcessHandle.current().pid();
    Object token =
        one(REQUEST, name, 30000, owner, 5000, "exclusive", null, host, pid, "Client", null);
    if (!Boolean.TRUE.equals(one("SELECT rowlock.release(?::bigint)", token))) {
      throw new IllegalStateException("not released");
    }
  }

  private static double rate(Way way) throws Exception {
    long began = System.nanoTime();
    int count = 0;
    for (; System.nanoTime() - began < 100_000_000L; count++) {
      way.take("bench:" + count % 100);
    }
    return count * 1e9 / (System.nanoTime() - began);
  }

  private static void pairs(int rounds) throws Exception {
    Way[] ways = {Client::ours, Client::byHand};
    for (int i = -20; i < rounds; i++) { // the first ones warm up
      double[] rates = new double[2];
      int first = i & 1;
      rates[first] = rate(ways[first]);
      rates[1 - first] = rate(ways[1 - first]);
      if (i >= 0) {
        System.out.println(rates[0] / rates[1] + " " + rates[0] + " " + rates[1]);
      }
    }
  }

  private static void handover(int count) throws Exception {
    for (int i = 0; i < count; i++) {
      long asked = System.nanoTime();
      long got;
      long released;
      try (Lease lease = Rowlock.lease(() -> kept, "bench:handover").acquire()) {
        got = System.nanoTime();
        Thread.sleep(50);
        released = System.nanoTime();
      }
      System.out.println(asked + " " + got + " " + released);
    }
  }

  private static Connection keep(Connection connection) {
    return (Connection)
        Proxy.newProxyInstance(
            Client.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, values) -> {
              try {
                return method.getName().equals("close") ? null : method.invoke(connection, values);
              } catch (InvocationTargetException error) {
                throw error.getCause();
              }
            });
  }

  public static void main(String[] arguments) throws Exception {
    String url = arguments[0].replaceFirst("(.*//)(.*)@(.*)", "jdbc:$1$3?user=$2");
    kept = keep(DriverManager.getConnection(url));
    host = InetAddress.getLocalHost().getHostName();
    switch (arguments[1]) {
      case "pairs" -> pairs(Integer.parseInt(arguments[2]));
      case "handover" -> handover(Integer.parseInt(arguments[2]));
      default -> ours("bench:idle");
    }
  }
}
