#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# jdbc: URLs without a server: the error names the missing package, and shows no password.

bats_require_minimum_version 1.5.0

setup() {
    rowlock="$ROWLOCK_TEST_BIN/rowlock"
    unset ROWLOCK_LIBJVM ROWLOCK_CLASSPATH
    export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" # it cannot read the memory of a JVM
    # shellcheck source=tests/lib/server.sh
    . "$BATS_TEST_DIRNAME/../lib/server.sh"
    port=$(free_port)
}

fails() { # URL: one line of error
    run ! "$rowlock" --db "$1" ls
    [ "${#lines[@]}" = 1 ]
    [[ $output != *hidden* ]]
}

@test "a missing JVM is one line that names the package or the variable" {
    ROWLOCK_LIBJVM=/nonexistent/libjvm.so fails "jdbc:h2:tcp://127.0.0.1:$port/x"
    [ "$status" = 69 ]
    [[ $output == *"Java virtual machine of ROWLOCK_LIBJVM: /nonexistent/libjvm.so: "* ]]
    [[ $output == *"; install the package default-jre-headless, or set ROWLOCK_LIBJVM"* ]]
    # a library, but not that one
    ROWLOCK_LIBJVM=$(ldd "$(command -v bash)" | sed -n 's/.* \(.*libc\.so[^ ]*\).*/\1/p') \
        fails "jdbc:h2:tcp://127.0.0.1:$port/x"
    [ "$status" = 69 ]
    [[ $output == *"JNI_CreateJavaVM: set ROWLOCK_LIBJVM"*" the package default-jre-headless "* ]]
}

@test "a missing jar is one line that names the package" {
    mkdir "$BATS_TEST_TMPDIR/empty"
    missing=/nonexistent.jar
    for known in h2:tcp:libh2-java derby:libderbyclient-java hsqldb:hsql:libhsqldb-java \
        postgresql:libpostgresql-jdbc-java mariadb:libmariadb-java mysql:libmariadb-java; do
        ROWLOCK_CLASSPATH=$missing fails "jdbc:${known%:*}://127.0.0.1:$port/x"
        [ "$status" = 69 ]
        [[ $output == *"no JDBC driver for 'jdbc:${known%%:*}:' in ROWLOCK_CLASSPATH; "* ]]
        [[ $output == *"; install the package ${known##*:}, and add "*".jar to "* ]]
        jar=$(sed 's/.* add \([^ ]*\.jar\) to .*/\1/' <<<"$output")
        [ -e "$jar" ]
        missing=$BATS_TEST_TMPDIR/empty
    done
    # the advice, followed: the driver is found, and no server
    ROWLOCK_CLASSPATH=$missing:$jar fails "jdbc:mysql://127.0.0.1:$port/x"
    [[ $output != *"no JDBC driver"* ]]
    fails "jdbc:nosuch://127.0.0.1:$port/x"
    [[ $output == *"no JDBC driver for 'jdbc:nosuch:'; name its jar in ROWLOCK_CLASSPATH"* ]]
    fails "jdbc:oracle:thin:@//127.0.0.1:$port/x"
    [[ $output == *"name its jar (ojdbc11.jar, from Oracle) in ROWLOCK_CLASSPATH"* ]]
}

@test "no message of rowlock shows a password of the URL" {
    export ROWLOCK_LIBJVM=/nonexistent # the message that names the database needs no JVM
    fails "jdbc:derby://127.0.0.1:$port/x;user=app;password=hidden"
    [[ $output == *"--db, jdbc:derby://127.0.0.1:$port/x)" ]]
    fails "jdbc:h2:tcp://127.0.0.1:$port/x;USER=sa;PASSWORD=hidden"
    [[ $output == *"--db, jdbc:h2:tcp://127.0.0.1:$port/x)" ]]
    fails "jdbc:hsqldb:hsql://127.0.0.1:$port/x;user=SA;password=hidden"
    fails "jdbc:postgresql://127.0.0.1:$port/x?user=a&password=hidden"
    [[ $output == *"--db, jdbc:postgresql://127.0.0.1:$port/x)" ]]
    fails "jdbc:postgresql://a:hidden@127.0.0.1:$port/x"
    fails "jdbc:mariadb://address=(host=127.0.0.1)(port=$port)(user=a)(password=hidden)/x"
    fails "jdbc:nosuch:thin:scott/hidden@//127.0.0.1:$port/x"
    fails "jdbc:nosuch:thin:scott/hidden@tcps://127.0.0.1:$port/x"
    fails "jdbc:derby:x;user=app;password=hidden"
}

@test "an embedded database is refused with the URL of a server" {
    fails "jdbc:h2:$BATS_TEST_TMPDIR/x"
    [[ $output == *"start H2's TCP server and write jdbc:h2:tcp://HOST:9092/DATABASE"* ]]
    [ -z "$(ls "$BATS_TEST_TMPDIR")" ]
}

fake_driver() { # sets ROWLOCK_CLASSPATH
    export ROWLOCK_CLASSPATH=$BATS_TEST_TMPDIR
    javac -d "$ROWLOCK_CLASSPATH" "$BATS_TEST_DIRNAME/../lib/fake/FakeDriver.java"
    mkdir -p "$ROWLOCK_CLASSPATH/META-INF/services"
    echo FakeDriver >"$ROWLOCK_CLASSPATH/META-INF/services/java.sql.Driver"
}

@test "no message of a JDBC driver shows a password of the URL" {
    fake_driver
    for url in "any:refused;user=app;PASSWORD=hidden;x=y" "thin:scott/hidden@//refused"; do
        fails "jdbc:wrapper:$url"
        [[ $output == *"cannot connect to jdbc:wrapper:"*refused* ]]
    done
}

@test "a session on SQL Server keeps its transaction when a wait ends" {
    local log=$BATS_TEST_TMPDIR/log
    fake_driver
    JAVA_TOOL_OPTIONS=-Dfake.log=$log run "$rowlock" --db "jdbc:sqlserver://127.0.0.1:$port" ls
    [ "$(head -n 3 "$log")" = "$(printf '%s\n' 'execute SET XACT_ABORT OFF' \
        'execute SET LOCK_TIMEOUT -1' 'setAutoCommit false')" ]
}

@test "a URL that hides H2, HSQLDB or Derby is refused with the URL of a server" {
    local known
    fake_driver
    for known in "H2|jdbc:h2:tcp://HOST:9092/DATABASE" "Apache Derby|jdbc:derby://HOST:1527/" \
        "HSQL Database Engine|jdbc:hsqldb:hsql://HOST:9001/DATABASE"; do
        JAVA_TOOL_OPTIONS="-Dfake.log=$BATS_TEST_TMPDIR/log '-Dfake.product=${known%|*}'" \
            run --separate-stderr "$rowlock" --db "jdbc:wrapper:any:mem:x" ls
        [ "$status" = 64 ]
        [[ $stderr == *"the database is ${known%|*}, but the URL does not show it"* ]]
        [[ $stderr == *"; write ${known#*|}"* ]]
    done
}
