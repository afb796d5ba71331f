#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/java: built by Maven, its tests on a real server with each driver, and the example of its
# README in a project outside of the checkout that uses the installed package.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
load ../surface/lib
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"
load ../sql/snippets # jdbc_url, after that of server.sh

FORMATTER=com.google.googlejavaformat:google-java-format:1.28.0:jar:all-deps
SOURCE=$BATS_TEST_DIRNAME/../../clients/java
GROUP=$(sed -n '/<groupId>/{s/.*<groupId>\(.*\)<.*/\1/p;q}' "$SOURCE/pom.xml")
VERSION=$(home_of version)
export ROWLOCK ROWLOCK_ERRORS=$SOURCE/../errors.txt
PACKAGE=$BATS_FILE_TMPDIR/package # a copy, because the reports of the tests are written there

setup_file() {
    install_technique
    once java build_java
    cp -R "$SHARED/java" "$PACKAGE"
}
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
teardown() { end_started; }

@test "its own tests pass with each driver, plain and through a pool" {
    maven -o -f "$PACKAGE/jdbc/pom.xml" surefire:test
}

@test "behind PgBouncer no waiter keeps a session of the server, and no holder loses its lease" {
    on_postgresql || return 0
    POOL=5 start_pooler java_pooler "$ROWLOCK_TEST_URL"
    ROWLOCK_TEST_POOLER=$server_url maven -o -f "$PACKAGE/jdbc/pom.xml" surefire:test \
        -Dtest=PoolerTest
    stop_pooler java_pooler
    grep -q 'tests="3" errors="0" skipped="0"' \
        "$PACKAGE"/jdbc/target/surefire-reports/TEST-rowlock.jdbc.PoolerTest.xml
}

@test "its public classes and methods are the recorded ones" {
    on_postgresql || return 0
    for part in jdbc shedlock; do
        jar=$(echo "$M2/${GROUP//.//}/rowlock-$part/$VERSION/rowlock-$part-$VERSION.jar")
        for class in $(jar -tf "$jar" | grep '\.class$' | grep -v '\$[0-9]\|info' | sort); do
            class=${class%.class}
            javap -public -cp "$jar" "${class//\//.}" | grep -v '^Compiled from' >class
            ! grep -q '^public' class || cat class
        done
    done | same_as_recorded java
}

@test "ShedLock's own tests pass" {
    ROWLOCK_TEST_JDBC=$(jdbc_url) maven -o -f "$PACKAGE/shedlock/pom.xml" surefire:test
    grep -q 'Tests run: 15, Failures: 0, Errors: 0, Skipped: 0' \
        "$PACKAGE"/shedlock/target/surefire-reports/*.txt
}

@test "what users install is complete" {
    on_postgresql || return 0
    for part in jdbc/Lease shedlock/RowlockLockProvider spring/RowlockJob; do
        package=rowlock-${part%/*}
        [ "$package" != rowlock-spring ] || package+=-boot-starter
        for file in .jar -sources.jar -javadoc.jar .pom; do
            [ -s "$M2/${GROUP//.//}/$package/$VERSION/$package-$VERSION$file" ]
        done
        jar -tf "$M2/${GROUP//.//}/$package/$VERSION/$package-$VERSION-javadoc.jar" >names
        grep -q "rowlock/$part.html$" names
        jar -tf "$M2/${GROUP//.//}/$package/$VERSION/$package-$VERSION-sources.jar" >names
        grep -qx "rowlock/$part.java" names
    done
}

@test "google-java-format would change nothing" {
    on_postgresql || return 0
    maven $DEPENDENCY:copy "-Dartifact=$FORMATTER" -DoutputDirectory=.
    exports=()
    for part in api code file parser tree util; do
        exports+=("--add-exports=jdk.compiler/com.sun.tools.javac.$part=ALL-UNNAMED")
    done
    find "$PACKAGE" -name '*.java' | xargs java "${exports[@]}" -jar google-java-format-*.jar \
        --dry-run --set-exit-if-changed
}

# A project that uses the package, with a program of the README, changed by SED-SCRIPT.
project() { # [SED-SCRIPT [NUMBER CLASS]]
    mkdir -p src/main/java
    awk -v number="${2:-1}" '/^```java$/ {n++; inside = 1; next} /^```$/ {inside = 0}
        inside && n == number' "$SOURCE/README.md" |
        sed -e "${1:-}" >"src/main/java/${3:-Import}.java"
    [ -s "src/main/java/${3:-Import}.java" ]
    cat >pom.xml <<END
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId>
  <artifactId>shop</artifactId>
  <version>1</version>
  <properties><maven.compiler.release>17</maven.compiler.release></properties>
  <dependencies>
    <dependency>
      <groupId>$GROUP</groupId>
      <artifactId>rowlock-jdbc</artifactId>
      <version>$VERSION</version>
    </dependency>
  </dependencies>
  <build><plugins><plugin>
    <artifactId>maven-compiler-plugin</artifactId>
    <version>3.14.1</version>
  </plugin></plugins></build>
</project>
END
    maven compiler:compile $DEPENDENCY:build-classpath -Dmdep.outputFile=classpath
    classpath=target/classes:$(cat classpath):$JARS/postgresql.jar:$JARS/mariadb-java-client.jar
}

@test "the README's example, in a project of its own, waits its turn, and does its work" {
    project
    waits_its_turn java -cp "$classpath" Import "$(jdbc_url)"
}

@test "the README's job: one of two programs performs it, and ends at a signal" {
    # due once here; MariaDB's server has no zones
    project 's/every("5m")/every("50w")/; /\.zone(/d' 2 Nightly
    start java -cp "$classpath" Nightly "$(jdbc_url)"
    until_true grep -q shares out
    project 's/every("5m")/every("50w")/; /\.zone(/d
        s/jobs\.run();/System.out.println(jobs.runDue());/' 2 Nightly
    [ "$(java -cp "$classpath" Nightly "$(jdbc_url)")" = 0 ]
    kill -s TERM "$started"
    ends_with 143 "$started"
    [ "$(cat out)" = $'bonds\nshares' ]
    [ "$(rowlock --json jobs prices | jq -r '.[0].last_output')" = '37 prices' ]
}

@test "a killed holder's lease passes to a waiter; a broken one is reported" {
    project 's/^        System.out.println(part.*/while (!lease.isLost()) Thread.sleep(20);/
        s/ofSeconds(30)/ofSeconds(3)/'
    passes_to_a_waiter java -cp "$classpath" Import "$(jdbc_url)"
    reports_a_break \
        "jdbc.LostException: the lease of 'import' is lost: stop the work done under it" \
        java -cp "$classpath" Import "$(jdbc_url)"
}

# The table of ShedLock is a stand-in. Each line names what is held, then which locks are free.
@test "coming from ShedLock: for one release a task needs the row and the lease" {
    on_postgresql || return 0
    page=$BATS_TEST_DIRNAME/../../docs/coming-from/shedlock.md
    sed -n '/^```java$/,/^```$/{/^```/d;p}' "$page" >Both.java
    cat >Switch.java <<'END'
import java.sql.DriverManager;
import java.time.*;
import java.util.*;
import net.javacrumbs.shedlock.core.*;
import rowlock.shedlock.RowlockLockProvider;

class Switch {
  static final Set<String> table = new HashSet<>();

  static boolean free(LockProvider locks) {
    Optional<SimpleLock> lock = locks.lock(configuration());
    lock.ifPresent(SimpleLock::unlock);
    return lock.isPresent();
  }

  static LockConfiguration configuration() {
    return new LockConfiguration(
        Instant.now(), "mail", Duration.ofMinutes(1), Duration.ZERO);
  }

  public static void main(String[] args) {
    LockProvider rows =
        configuration ->
            table.add(configuration.getName())
                ? Optional.of(() -> table.remove(configuration.getName()))
                : Optional.empty();
    LockProvider leases = new RowlockLockProvider(() -> DriverManager.getConnection(args[0]));
    LockProvider both = new Both(rows, leases);
    SimpleLock held = both.lock(configuration()).get();
    System.out.println("both: " + free(rows) + free(leases) + free(both));
    held.unlock();
    System.out.println("none: " + free(rows) + free(leases) + free(both));
    held = rows.lock(configuration()).get();
    System.out.println("row: " + free(leases) + free(both));
    held.unlock();
    held = leases.lock(configuration()).get();
    System.out.println("lease: " + free(both) + free(rows));
    held.unlock();
    LockProvider away = new RowlockLockProvider(() -> { throw new java.sql.SQLException("away"); });
    try {
      new Both(rows, away).lock(configuration());
    } catch (RuntimeException error) {
      System.out.println("away: " + free(rows));
    }
  }
}
END
    maven -f "$PACKAGE/shedlock/pom.xml" $DEPENDENCY:build-classpath \
        -Dmdep.outputFile="$PWD/classpath"
    classpath=.:$PACKAGE/jdbc/target/classes:$PACKAGE/shedlock/target/classes:$(cat classpath)
    javac -proc:none -cp "$classpath" Both.java Switch.java
    [ "$(java -cp "$classpath" Switch "$(jdbc_url)")" = 'both: falsefalsefalse
none: truetruetrue
row: truefalse
lease: falsetrue
away: true' ]
}

@test "at most 1,550 lines of code, and 400 of jobs; the fake, the schema and ShedLock aside" {
    code() { # CONDITION...: of the files that fulfil it, without comments and imports
        find "$SOURCE/jdbc/src/main" -name '*.java' ! -path '*/fake/*' \
            ! -name Schema.java ! -name Install.java "$@" -exec sed -E \
            '/^ *\/\*\*.*\*\/$/d; /^ *\/\*/,/\*\/$/d; /^ *(\/\/.*)?$/d; /^(import|package) /d' {} +
    }
    jobs=('(' -name 'Job*' -o -name Run.java -o -name OverrunException.java ')')
    lines=$(code ! "${jobs[@]}" | wc -l) of_jobs=$(code "${jobs[@]}" | wc -l)
    [ "$lines" -gt 100 ]
    [ "$lines" -le 1550 ]
    [ "$of_jobs" -gt 100 ]
    [ "$of_jobs" -le 400 ]
}
