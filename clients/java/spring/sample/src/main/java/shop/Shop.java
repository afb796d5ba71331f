package shop;

import java.util.List;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import rowlock.jdbc.Run;
import rowlock.spring.RowlockJob;

@SpringBootApplication
public class Shop {
  public static void main(String[] args) {
    SpringApplication.run(Shop.class, args);
  }

  @RowlockJob(name = "prices", every = "${shop.prices:5m}")
  void prices(Run run) {
    for (String part : List.of("bonds", "shares")) {
      run.check(); // throws LostException: another program may work now
      System.out.println(part);
    }
    run.note("37 prices"); // `rowlock jobs prices` shows it
  }

  @RowlockJob(name = "report", cron = "0 3 * * *", zone = "Europe/Berlin", maxRun = "1h", retry = 3)
  void report() {
    System.out.println("report");
  }
}
