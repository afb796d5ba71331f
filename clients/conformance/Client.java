// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import rowlock.jdbc.BusyException;
import rowlock.jdbc.Job;
import rowlock.jdbc.Jobs;
import rowlock.jdbc.Lease;
import rowlock.jdbc.LeaseRequest;
import rowlock.jdbc.LostException;
import rowlock.jdbc.Rowlock;
import rowlock.jdbc.Run;
import rowlock.jdbc.UnavailableException;
import rowlock.jdbc.WaitInterruptedException;

/**
 * The conformance client in Java: a command a line on standard input, an answer a line. Its
 * arguments are a URL and, if it is not that of MariaDB, the driver: mysql is Connector/J.
 */
public final class Client {
  private static String scheme; // of JDBC's URL
  private static final Pattern MEMBER =
      Pattern.compile("\"(\\w+)\": *(?:\"((?:[^\"\\\\]|\\\\.)*)\"|(-?\\d+))");

  private final String url;
  private Lease lease;
  private final CountDownLatch[] lost = new CountDownLatch[1];
  private Connection connection; // of the transactions
  private final List<Consumer<Jobs>> defined = new ArrayList<>(); // its jobs
  private Jobs jobs; // that are served
  private final BlockingQueue<Begun> runs = new LinkedBlockingQueue<>();
  private Run run; // instead of a lease
  private CountDownLatch end; // opened: the run may end

  /** A run that waits; end lets it end, and lost tells of its loss. */
  private record Begun(Run run, CountDownLatch end, CountDownLatch lost) {}

  private Client(String url) {
    this.url = url;
  }

  private static String jdbcUrl(String url) {
    URI uri = URI.create(url);
    String[] account = (uri.getUserInfo() + ":").split(":", -1);
    String driver = scheme.equals("mysql") ? "&disableMariaDbDriver" : ""; // it takes that, too
    return "jdbc:%s://%s:%d%s?user=%s&password=%s%s"
        .formatted(
            scheme, uri.getHost(), uri.getPort(), uri.getPath(), account[0], account[1], driver);
  }

  private static Connection connect(String url) throws SQLException {
    return DriverManager.getConnection(jdbcUrl(url));
  }

  private Connection own() throws SQLException {
    if (connection == null) {
      // behind PgBouncer before 1.21, because PgJDBC names its own COMMIT
      boolean pooled = System.getenv("CONFORMANCE_POOLER") != null;
      connection =
          DriverManager.getConnection(jdbcUrl(url) + (pooled ? "&prepareThreshold=0" : ""));
      connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
      connection.setAutoCommit(false);
    }
    return connection;
  }

  private static Duration millis(String number) {
    return Duration.ofMillis(Long.parseLong(number));
  }

  private String acquire(Map<String, String> o) {
    String at = o.getOrDefault("url", url);
    LeaseRequest request =
        Rowlock.lease(() -> connect(at), o.get("name")).ttl(millis(o.get("ttl")));
    if (o.containsKey("wait")) {
      request.waitAtMost(millis(o.get("wait")));
    }
    if ("shared".equals(o.get("mode"))) {
      request.shared();
    }
    if (o.containsKey("permits")) {
      request.permits(Integer.parseInt(o.get("permits")));
    }
    if (o.containsKey("note")) {
      request.note(o.get("note"));
    }
    Thread.interrupted();
    run = null;
    lease = request.acquire();
    CountDownLatch latch = new CountDownLatch(1);
    lost[0] = latch;
    lease.onLost(latch::countDown);
    return ", \"token\": " + lease.getToken();
  }

  /** A pool that has so many connections, in the place of a library's. */
  private static DataSource poolOf(String url, int size) throws SQLException {
    BlockingQueue<Connection> free = new ArrayBlockingQueue<>(size);
    for (int i = 0; i < size; i++) {
      Connection real = connect(url);
      free.add(
          stub(
              Connection.class,
              (self, method, values) -> {
                if (!method.getName().equals("close")) {
                  return method.invoke(real, values);
                }
                free.add((Connection) self);
                return null;
              }));
    }
    return stub(
        DataSource.class,
        (self, method, values) ->
            method.getName().equals("getConnection") ? free.take() : method.invoke(free, values));
  }

  private static <T> T stub(Class<T> type, InvocationHandler does) {
    InvocationHandler handler =
        (self, method, values) -> {
          try {
            return does.invoke(self, method, values);
          } catch (InvocationTargetException error) {
            throw error.getCause();
          }
        };
    return type.cast(
        Proxy.newProxyInstance(Client.class.getClassLoader(), new Class<?>[] {type}, handler));
  }

  /** So many callers of one name, which query the same pool while they hold the lease. */
  private String crowd(Map<String, String> o) throws SQLException, InterruptedException {
    DataSource few = poolOf(url, Integer.parseInt(o.get("pool")));
    AtomicInteger done = new AtomicInteger();
    List<Thread> callers = new ArrayList<>();
    for (int caller = Integer.parseInt(o.get("callers")); caller > 0; caller--) {
      Thread started =
          new Thread(
              () -> {
                try (Lease held = Rowlock.lease(few, o.get("name")).acquire();
                    Connection one = few.getConnection();
                    Statement query = one.createStatement()) {
                  query.execute("SELECT 1");
                  held.check();
                  done.incrementAndGet();
                } catch (SQLException error) {
                  throw new IllegalStateException(error);
                }
              });
      callers.add(started);
      started.start();
    }
    for (Thread caller : callers) {
      caller.join();
    }
    return ", \"number\": " + done;
  }

  private void job(Map<String, String> o) {
    if ("1".equals(o.get("fresh"))) {
      defined.clear();
    }
    defined.add(each -> define(each.job(o.get("name")), o));
  }

  private void define(Job job, Map<String, String> o) {
    if (o.containsKey("every")) {
      job.every(o.get("every"));
    } else {
      job.cron(o.get("cron")).zone(ZoneId.of(o.get("zone")));
    }
    job.ttl(millis(o.get("ttl")));
    if (o.containsKey("max_run")) {
      job.maxRun(millis(o.get("max_run")));
    }
    if (o.containsKey("retry")) {
      job.retry(Integer.parseInt(o.get("retry"))).backoff(millis(o.get("backoff")));
    }
    if ("skip".equals(o.get("missed"))) {
      job.skipMissed();
    }
    job.run(mine -> work(mine, o.get("body")));
  }

  private void work(Run mine, String body) throws InterruptedException {
    mine.note("37 mails");
    if (body.equals("fails")) {
      throw new IllegalStateException("no mail server");
    }
    if (body.equals("waits")) {
      Begun begun = new Begun(mine, new CountDownLatch(1), new CountDownLatch(1));
      mine.onLost(begun.lost::countDown);
      runs.add(begun);
      try {
        begun.end.await();
      } catch (InterruptedException error) {
        mine.check();
        throw error;
      }
    }
  }

  private Jobs jobs(String grace) {
    Jobs all = Jobs.on(() -> connect(url)).grace(millis(grace));
    defined.forEach(define -> define.accept(all));
    return all;
  }

  private String due() {
    Thread.interrupted(); // by a scenario before
    try (Jobs all = jobs("60000")) {
      return ", \"number\": " + all.runDue();
    }
  }

  private String began(Map<String, String> o) throws InterruptedException {
    Thread.interrupted(); // by a scenario before
    Begun begun = runs.poll(Long.parseLong(o.get("limit")), TimeUnit.MILLISECONDS);
    run = begun.run;
    end = begun.end;
    lost[0] = begun.lost;
    return ", \"token\": %d, \"number\": %d, \"job\": \"%s\", \"due\": %d"
        .formatted(run.token(), run.retry(), run.job(), run.due().toEpochMilli());
  }

  private String check() {
    if (run != null) {
      run.check();
      return ", \"remaining\": " + run.remaining().toMillis();
    }
    lease.check();
    return ", \"remaining\": " + lease.remaining().toMillis();
  }

  private void lock(Map<String, String> o) throws SQLException {
    String name = o.get("name");
    Duration wait = o.containsKey("wait") ? millis(o.get("wait")) : null;
    if ("shared".equals(o.get("mode"))) {
      Rowlock.lockShared(own(), name, wait);
    } else if (wait == null) {
      Rowlock.lock(own(), name);
    } else {
      Rowlock.lock(own(), name, wait);
    }
  }

  private String refresh(Map<String, String> o) throws SQLException {
    Duration wait = o.containsKey("wait") ? millis(o.get("wait")) : null;
    boolean loaded =
        Rowlock.refresh(
            own(),
            o.get("name"),
            millis(o.get("age")),
            wait,
            () -> {
              if ("fail".equals(o.get("load"))) {
                throw new SQLException("the load failed");
              }
              if ("commit".equals(o.get("load"))) {
                connection.commit();
              }
            });
    return ", \"loaded\": " + (loaded ? 1 : 0);
  }

  /** What is added to the answer "ok". */
  private String call(Map<String, String> o) throws SQLException, InterruptedException {
    switch (o.get("do")) {
      case "acquire":
        return acquire(o);
      case "crowd":
        return crowd(o);
      case "job":
        job(o);
        return "";
      case "due":
        return due();
      case "serve":
        jobs = jobs(o.getOrDefault("grace", "60000"));
        jobs.start();
        return "";
      case "began":
        return began(o);
      case "end":
        end.countDown();
        return "";
      case "stop":
        jobs.close();
        return "";
      case "check":
        return check();
      case "lost":
        if (lost[0].await(Long.parseLong(o.get("limit")), TimeUnit.MILLISECONDS)) {
          throw new Announced();
        }
        return "";
      case "fence":
        if (run != null) {
          run.fence(own());
        } else {
          lease.fence(own());
        }
        return "";
      case "release":
        lease.close();
        return "";
      case "lock":
        lock(o);
        return "";
      case "next":
        return ", \"number\": " + Rowlock.next(own(), o.get("counter"));
      case "refresh":
        return refresh(o);
      case "execute":
        try (Statement statement = own().createStatement()) {
          statement.execute(o.get("sql"));
        }
        return "";
      case "commit":
        connection.commit();
        return "";
      default:
        own().rollback();
        return "";
    }
  }

  private static final class Announced extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  private static String quoted(String text) {
    return '"' + String.valueOf(text).replaceAll("[\\\\\"]", "\\\\$0").replace('\n', ' ') + '"';
  }

  private String answer(Map<String, String> o) {
    try {
      return "{\"is\": \"ok\"" + call(o) + "}";
    } catch (BusyException error) {
      return "{\"is\": \"busy\", \"holder\": " + quoted(error.getHolder()) + "}";
    } catch (LostException | Announced error) {
      return "{\"is\": \"lost\", \"text\": " + quoted(error.getMessage()) + "}";
    } catch (UnavailableException error) {
      return "{\"is\": \"unavailable\", \"text\": " + quoted(error.getMessage()) + "}";
    } catch (WaitInterruptedException | InterruptedException error) {
      return "{\"is\": \"cancelled\"}";
    } catch (SQLException | RuntimeException error) {
      return "{\"is\": \"error\", \"text\": " + quoted(error.toString()) + "}";
    }
  }

  public static void main(String[] arguments) throws IOException {
    String server = URI.create(arguments[0]).getScheme().replace("mysql", "mariadb");
    scheme = arguments.length > 1 ? arguments[1] : server;
    Client client = new Client(arguments[0]);
    Thread main = Thread.currentThread();
    sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> main.interrupt());
    try { // on a busy machine a JVM may load a driver for longer than a call without a wait lasts
      connect(arguments[0]).close();
    } catch (SQLException e) {
      // a command will report it
    }
    System.out.printf(
        "{\"is\": \"ok\", \"pid\": %d, \"program\": \"Client\"}%n", ProcessHandle.current().pid());
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, String> command = new HashMap<>();
      for (Matcher m = MEMBER.matcher(line); m.find(); ) {
        String text = m.group(2);
        command.put(
            m.group(1), text != null ? text.replaceAll("\\\\(.)", "$1") : m.group(3));
      }
      System.out.println(client.answer(command));
    }
    Runtime.getRuntime().halt(0); // a lease is not released
  }
}
