#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each package of clients/ installs the schema, by the text of `schema print` that is inside of the
# built package. The engine mariadb is MySQL if MYSQL_BIN is the folder of MySQL's programs.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load ../command/roles
load lib.bash

PATH=/usr/bin:$PATH # Debian's python3 has Debian's drivers
CLIENTS=$BATS_TEST_DIRNAME/../../clients
export ROWLOCK PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
export PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip
export npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false

role=installing_${ROWLOCK_TEST_URL##*_}
setup_file() { :; } # nothing is installed
# shellcheck disable=SC2154
case $ROWLOCK_TEST_ENGINE in
postgresql) dialect=postgresql python_drivers="psycopg psycopg2" ;;
mariadb) dialect=$(is_mysql && echo mysql || echo mariadb) python_drivers="pymysql MySQLdb" ;;
esac

# has_schemas COMMAND...: the COMMAND with a file's name prints that of the built package. Its
# statements for an account that may not install have no parameter.
has_schemas() {
    local each
    for each in postgresql mariadb mysql; do
        "$@" "$each.sql" >packed
        "$ROWLOCK" schema print $each | cmp - packed
        "$@" "$each-needs.sql" >packed
        grep -q 'GRANT CREATE' packed
        run ! grep -E '[?]|[$][0-9]' packed
    done
}
# create_refused: an account that may not install. $needs is the statement that the command prints.
create_refused() {
    create_role "$role"
    [ "$ROWLOCK_TEST_ENGINE" != mariadb ] || sql "GRANT SELECT ON *.* TO $role@'%'"
    run -69 "$ROWLOCK" --db "$(url_of_role "$role")" schema install
    [[ $output == *"an administrator can allow it: GRANT "* ]]
    needs=${output#*"an administrator"}
    needs="an administrator${needs%% (database*}"
}
# is_refused TEXT COMMAND...: the COMMAND installs by the URL of that account
is_refused() {
    ! is_mysql || return 0 # whose accounts with a password need TLS
    create_refused
    run -1 "${@:2}" "$(url_of_role "$role")"
    drop_role "$role"
    [[ $output == *denied*"; $needs; or run "*"$1"* ]]
}

@test "Python, with each driver" {
    for driver in $python_drivers; do
        ROWLOCK_TEST_DRIVER=$driver PYTHONPATH=$CLIENTS/python/src \
            python3 "$CLIENTS/python/tests/test_install.py"
    done
    rowlock schema uninstall --force
    PYTHONPATH=$CLIENTS/python/src is_refused "python -m rowlock install --print $dialect" \
        python3 -m rowlock install
}

@test "the wheel and the sdist contain the texts" {
    on_postgresql || return 0
    cp -R "$CLIENTS/python" client
    python3 -m venv tools
    tools/bin/pip install 'setuptools>=77' >&2
    (cd client && ../tools/bin/python -c \
        'from setuptools import build_meta; build_meta.build_sdist("../dist")') >&2
    tools/bin/pip wheel --no-deps --wheel-dir dist ./client >&2
    in_wheel() { unzip -p dist/*.whl "rowlock/schema/$1"; }
    in_sdist() { tar -xzOf dist/*.tar.gz --wildcards "*/rowlock/schema/$1"; }
    has_schemas in_wheel
    has_schemas in_sdist
}

@test "Node, with each driver; npx of an application; the tarball contains the texts" {
    mkdir project
    cp -R "$CLIENTS/node" client
    rm -rf client/node_modules client/dist client/dist-test
    (cd client && npm install --ignore-scripts --no-package-lock && npm pack && npx tsc -p test) >&2
    cd client
    npx prettier --check src test >&2
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] && drivers=pg || drivers="mysql2 mysql2/promise mariadb"
    for driver in $drivers; do
        ROWLOCK_TEST_DRIVER=$driver node --test --test-reporter=spec dist-test/install.test.js
    done
    cd ../project
    (npm init -y && npm install --no-package-lock ../client/*.tgz "${drivers%% *}") >&2
    rowlock schema uninstall --force
    is_refused "npx rowlock install --print $dialect" npx rowlock install
    [ "$(npx rowlock install "$ROWLOCK_TEST_URL")" = "rowlock is installed" ]
    npx rowlock --help | grep -q '^usage: npx rowlock install'
    in_tarball() { tar -xzOf ../client/*.tgz "package/schema/$1"; }
    has_schemas in_tarball
}

@test "Go, with each driver; the module contains the texts, and compiles without them" {
    use_newer_go
    go_client=$CLIENTS/go
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] && drivers="pgx postgres" || drivers=mysql
    rowlock schema uninstall --force
    create_refused
    ROWLOCK_TEST_UNPRIVILEGED=$(url_of_role "$role") ROWLOCK_TEST_NEEDS=$needs
    export ROWLOCK_TEST_UNPRIVILEGED ROWLOCK_TEST_NEEDS
    (cd "$go_client/tests" && go test -c -o "$BATS_TEST_TMPDIR/go-tests" .)
    for driver in $drivers; do
        (cd "$go_client/tests" && ROWLOCK_TEST_DRIVER=$driver "$BATS_TEST_TMPDIR/go-tests" \
            -test.v -test.run 'Install|Schema')
    done
    drop_role "$role"
    cp -R "$go_client" module
    in_module() { cat "module/schema/$1"; }
    has_schemas in_module
    rm module/schema/*.sql
    cd module
    run -1 go run ./cmd/rowlock-schema postgresql
    [[ $output == *"run make client-schemas"*"rowlock schema install"* ]]
}

@test "Java, with each driver; the jar contains the texts, and prints and installs" {
    mkdir package
    tar -C "$CLIENTS/java" --exclude target -cf - . | tar -C package -xf -
    maven -f package/pom.xml -pl jdbc -DskipTests -Dmaven.javadoc.skip=true package >&2
    maven -f package/pom.xml -pl jdbc surefire:test -Dtest=InstallTest >&2
    grep -q 'tests="8" errors="0"' package/jdbc/target/surefire-reports/TEST-*InstallTest.xml
    jar=$(ls package/jdbc/target/rowlock-jdbc-*[0-9].jar)
    in_jar() { unzip -p "$jar" "rowlock/jdbc/schema/$1"; }
    has_schemas in_jar
    java -jar "$jar" --print mysql 'app@%' >printed
    "$ROWLOCK" schema print mysql --role 'app@%' | cmp - printed
    rowlock schema uninstall --force
    classpath=$jar:/usr/share/java/postgresql.jar:/usr/share/java/mariadb-java-client.jar
    by_jdbc() { # URL
        local account=${1#*://} scheme=${dialect/mysql/mariadb}
        account=${account%%@*}:
        java -cp "$classpath" rowlock.jdbc.Install \
            "jdbc:$scheme://${1#*@}?user=${account%%:*}&password=$(cut -d: -f2 <<<"$account")"
    }
    is_refused "the text of Rowlock.schema(\"$dialect\"" by_jdbc
    [ "$(by_jdbc "$ROWLOCK_TEST_URL")" = "rowlock is installed" ]
}
