#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/java/spring: its tests in contexts of Spring Boot, and the application of its README as
# two instances, which share jobs.
# Runs on: postgresql/native

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"
load ../sql/snippets # jdbc_url, after that of server.sh

STARTER=$BATS_TEST_DIRNAME/../../clients/java/spring
PACKAGE=$BATS_FILE_TMPDIR/package SAMPLE=$BATS_FILE_TMPDIR/sample
export ROWLOCK

setup_file() {
    once java build_java
    cp -R "$SHARED/java" "$PACKAGE"
    cp -R "$STARTER/sample" "$SAMPLE"
    rm -rf "$SAMPLE/target"
    cat >"$SAMPLE/src/main/java/shop/More.java" <<'END'
package shop;

import io.micrometer.core.instrument.MeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import net.javacrumbs.shedlock.spring.annotation.EnableSchedulerLock;
import net.javacrumbs.shedlock.spring.annotation.SchedulerLock;
import org.springframework.boot.actuate.health.HealthEndpoint;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.stereotype.Component;
import rowlock.jdbc.Run;
import rowlock.spring.RowlockJob;

@Component
@EnableSchedulerLock(defaultLockAtMostFor = "10m")
class More {
  private final HealthEndpoint health;
  private final MeterRegistry meters;
  private final Mail mail;

  More(HealthEndpoint health, MeterRegistry meters, Mail mail) {
    this.health = health;
    this.meters = meters;
    this.mail = mail;
  }

  /** Each instance has one of its own: then it has asked for the others, too. */
  @RowlockJob(name = "health of ${instance}", every = "50w")
  void health() {
    mail.send();
    meters.get("rowlock.lease.acquired").timer(); // throws, if there is none
    System.out.println("health " + health.healthForPath("rowlock").getStatus());
  }

  /** The shutdown has begun. */
  @EventListener
  void closing(ContextClosedEvent event) {
    System.out.println("closing");
  }

  @RowlockJob(name = "slow", every = "${shop.slow:-}", ttl = "${shop.ttl:3s}")
  void slow(Run run) throws InterruptedException {
    System.out.println("slow " + run.retry());
    while (Files.exists(Path.of("busy"))) {
      Thread.sleep(20);
    }
    System.out.println("slow ends");
  }
}

@Component
class Mail {
  @SchedulerLock(name = "mail", lockAtLeastFor = "10m")
  void send() {
    System.out.println("mail");
  }
}
END
    sed -i "/^  <dependencies>/r /dev/stdin" "$SAMPLE/pom.xml" <<END
<dependency>
  <groupId>net.javacrumbs.shedlock</groupId>
  <artifactId>shedlock-spring</artifactId>
  <version>$(sed -n 's/.*<shedlock.version>\(.*\)<.*/\1/p' "$STARTER/pom.xml")</version>
</dependency>
END
    maven -f "$SAMPLE/pom.xml" package
}
setup() { # the application installs, so that its jobs are new
    cd "$BATS_TEST_TMPDIR" || return 1
    rowlock schema uninstall --force >&2
}
teardown() {
    end_started
    [ -n "${BATS_TEST_COMPLETED:-}" ] || tail -n 50 one two || true
}

# shop INSTANCE OPTION...: starts an instance; its output is in the file INSTANCE. `every 50w` is
# due once here.
program=(-jar "$SAMPLE/target/shop.jar")
shop() {
    java -XX:TieredStopAtLevel=1 "${program[@]}" --instance="$1" --shop.prices=50w \
        "--spring.datasource.url=$(jdbc_url)" "${@:2}" >"$1" 2>&1 3>&- 4>&- &
    started=$!
    all_started+=("$started")
}
has_run() { [ "$(rowlock --json jobs "$1" | jq -r '.[0].last_outcome')" = "$2" ]; } # JOB OUTCOME

@test "its own tests pass" {
    ROWLOCK_TEST_JDBC=$(jdbc_url) maven -o -f "$PACKAGE/spring/pom.xml" surefire:test
}

@test "the README shows the sample" {
    sed -n '/^```java$/,/^```$/{/^```/d;p}' "$STARTER/README.md" |
        cmp - "$STARTER/sample/src/main/java/shop/Shop.java"
    sed -n '/^```properties$/,/^```$/{/^```/d;p}' "$STARTER/README.md" |
        cmp - "$STARTER/sample/src/main/resources/application.properties"
}

@test "one of two instances performs a due job; after its kill -9 the other repeats the run" {
    touch busy
    shop one --shop.slow=50w
    one=$started
    shop two --shop.slow=50w
    two=$started
    until_true grep -qx 'health UP' one
    until_true grep -qx 'health UP' two
    until_true has_run prices done
    until_true grep -qx 'slow 0' one two
    [ "$(rowlock --json jobs prices | jq -r '.[0].last_output')" = '37 prices' ]
    [ "$(cat one two | grep -cx shares)" = 1 ]
    [ "$(cat one two | grep -cx 'slow 0')" = 1 ]
    [ "$(cat one two | grep -cx mail)" = 1 ] # both have called it, under ShedLock's annotation
    run ! is_free mail
    busy=$(grep -lx 'slow 0' one two)
    [ "$busy" = one ] && other=two || other=one
    kill -s KILL "${!busy}"
    until_true grep -qx 'slow 1' $other

    # a shutdown lets the run end
    kill -s TERM "${!other}"
    until_true grep -qx closing $other
    rm busy
    ends_with 143 "${!other}"
    grep -qx 'slow ends' $other
    has_run slow done
}

@test "a run that outlasts the grace of a shutdown: the other instance repeats it at once" {
    # without ShedLock, as the sample is
    mkdir plain
    (cd plain && jar -xf "$SAMPLE/target/shop.jar" && rm BOOT-INF/lib/shedlock-*.jar)
    program=(-cp "plain/BOOT-INF/classes:plain/BOOT-INF/lib/*" shop.Shop)
    touch busy
    shop one --shop.slow=50w --shop.ttl=10m --rowlock.grace=0s
    one=$started
    until_true grep -qx 'slow 0' one
    shop two --shop.slow=50w --shop.ttl=10m
    until_true grep -qx 'health UP' two
    kill -s TERM "$one"
    ends_with 143 "$one"
    run ! grep -qx 'slow ends' one
    until_true grep -qx 'slow 1' two
    rm busy
    until_true has_run slow done
    [ "$(rowlock --json jobs slow | jq -c '[.[0].history[].outcome]')" = '["done","lost"]' ]
}

@test "with Spring Boot 4 the same program has jobs, health, timers and ShedLock's locks" {
    cp -R "$SAMPLE" boot4
    rm -r boot4/target
    sed -i '/<parent>/,/<\/parent>/s/<version>.*</<version>4.0.7</' boot4/pom.xml
    sed -i 's/boot.actuate.health.HealthEndpoint/boot.health.actuate.endpoint.HealthEndpoint/' \
        boot4/src/main/java/shop/More.java
    maven -f boot4/pom.xml package
    program=(-jar boot4/target/shop.jar)
    shop one
    until_true grep -qx 'health UP' one
    grep -q '(v4.0.7)' one
    grep -qx mail one
    run ! is_free mail
    until_true has_run prices done
    kill -s TERM "$started"
    ends_with 143 "$started"
}
