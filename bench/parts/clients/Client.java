// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import javax.sql.DataSource;
import rowlock.jdbc.Lease;
import rowlock.jdbc.LeaseRequest;
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

  private interface Source {
    LeaseRequest lease(String name);
  }

  private static void handover(int count, Source source) throws Exception {
    for (int i = 0; i < count; i++) {
      long asked = System.nanoTime();
      long got;
      long released;
      try (Lease lease = source.lease("bench:handover").acquire()) {
        got = System.nanoTime();
        Thread.sleep(50);
        released = System.nanoTime();
      }
      System.out.println(asked + " " + got + " " + released);
    }
  }

  private static void others(DataSource pool, int waiters, int ms) throws Exception {
    String name = "bench:others " + ProcessHandle.current().pid();
    for (int i = 0; i < waiters; i++) {
      Thread thread =
          new Thread(
              () -> {
                while (true) {
                  try (Lease lease = Rowlock.lease(pool, name).acquire()) {
                    Thread.sleep(20);
                  } catch (Throwable error) {
                    error.printStackTrace();
                    System.exit(1);
                  }
                }
              });
      thread.setDaemon(true);
      thread.start();
    }
    long end = System.nanoTime() + ms * 1_000_000L;
    while (System.nanoTime() < end) {
      long asked = System.nanoTime();
      try (Connection connection = pool.getConnection();
          Statement statement = connection.createStatement();
          ResultSet rows = statement.executeQuery("SELECT 1")) {
        rows.next();
      }
      System.out.println(System.nanoTime() - asked);
      Thread.sleep(10);
    }
    System.exit(0);
  }

  /** Ten sessions. */
  private static DataSource pool(String url) throws Exception {
    BlockingQueue<Connection> free = new LinkedBlockingQueue<>();
    for (int i = 0; i < 10; i++) {
      free.add(DriverManager.getConnection(url));
    }
    return (DataSource)
        Proxy.newProxyInstance(
            Client.class.getClassLoader(),
            new Class<?>[] {DataSource.class},
            (proxy, method, values) -> {
              switch (method.getName()) {
                case "getConnection" -> {
                  Connection connection = free.take();
                  return keep(connection, () -> free.add(connection));
                }
                case "hashCode" -> {
                  return System.identityHashCode(proxy);
                }
                case "equals" -> {
                  return proxy == values[0];
                }
                default -> {
                  return false; // it wraps nothing
                }
              }
            });
  }

  private static Connection keep(Connection connection, Runnable close) {
    return (Connection)
        Proxy.newProxyInstance(
            Client.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (proxy, method, values) -> {
              try {
                if (!method.getName().equals("close")) {
                  return method.invoke(connection, values);
                }
                close.run();
                return null;
              } catch (InvocationTargetException error) {
                throw error.getCause();
              }
            });
  }

  public static void main(String[] arguments) throws Exception {
    String url = jdbcUrl(arguments[0]);
    switch (arguments[1]) {
      case "others" -> {
        int waiters = Integer.parseInt(arguments[2]);
        others(pool(url + "&prepareThreshold=0"), waiters, Integer.parseInt(arguments[3]));
      }
      case "pooled" -> {
        DataSource pool = pool(url);
        handover(Integer.parseInt(arguments[2]), name -> Rowlock.lease(pool, name));
      }
      default -> withOneSession(url, arguments);
    }
  }

  private static String jdbcUrl(String url) {
    URI uri = URI.create(url);
    String[] account = (uri.getUserInfo() + ":").split(":", -1);
    return "jdbc:%s://%s:%d%s?user=%s&password=%s"
        .formatted(
            uri.getScheme(), uri.getHost(), uri.getPort(), uri.getPath(), account[0], account[1]);
  }

  private static void withOneSession(String url, String[] arguments) throws Exception {
    kept = keep(DriverManager.getConnection(url), () -> {});
    host = InetAddress.getLocalHost().getHostName();
    switch (arguments[1]) {
      case "pairs" -> pairs(Integer.parseInt(arguments[2]));
      case "handover" ->
          handover(Integer.parseInt(arguments[2]), name -> Rowlock.lease(() -> kept, name));
      default -> ours("bench:idle");
    }
  }
}
