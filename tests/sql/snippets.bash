# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of examples/sql: each of its programs locks NAME, prints `locked`, and counts in the
# table bond.

NAME=BondBO:DK0015966592
SNIPPETS=$BATS_TEST_DIRNAME/../../examples/sql
JARS=/usr/share/java
# Debian's python3 has Debian's drivers; those of node are in one folder if from Debian, in another
# if from npm.
PATH=$BATS_TEST_DIRNAME/../lib/client:/usr/bin:$PATH
NODE_PATH=/usr/share/nodejs:$(npm root -g 2>/dev/null || true)
export NODE_PATH

create_bond() {
    sql "CREATE TABLE IF NOT EXISTS bond (id VARCHAR(99) PRIMARY KEY, handled INTEGER NOT NULL)"
    sql "DELETE FROM bond"
    sql "INSERT INTO bond (id, handled) VALUES ('DK0015966592', 0)"
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || sql "GRANT ALL ON bond TO tester"
}
handled() { sql 'SELECT handled FROM bond'; }
jdbc_url() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) echo "jdbc:postgresql://${ROWLOCK_TEST_URL#*@}?user=tester" ;;
    mariadb) echo "jdbc:mariadb://${ROWLOCK_TEST_URL#*@}?user=rowlock&password=$password" ;;
    esac
}
option_file() {
    printf '[client]\nhost=127.0.0.1\nport=%s\nuser=rowlock\npassword=%s\ndatabase=%s\n' \
        "$ROWLOCK_TEST_MARIADB_PORT" "$password" "${ROWLOCK_TEST_URL##*/}" >my.cnf
}

# snippet FILE: runs it in the background; $snippet is its process, its output goes to the file
# said.
snippet() {
    "run_${1##*.}" "$SNIPPETS/$1" >said 2>&1 3>&- 4>&- &
    snippet=$!
}
run_sql() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) exec psql -qXAt -v ON_ERROR_STOP=1 -v "name=$NAME" "$ROWLOCK_TEST_URL" -f "$1" ;;
    mariadb) option_file && exec mariadb --defaults-file=my.cnf -N -B \
        --unbuffered "${ROWLOCK_TEST_URL##*/}" <"$1" ;;
    esac
}
run_py() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) exec python3 "$1" "$ROWLOCK_TEST_URL" ;;
    mariadb) option_file && exec python3 "$1" my.cnf ;;
    esac
}
run_js() { exec node "$1" "${ROWLOCK_TEST_URL/#mariadb:/mysql:}"; }
run_java() { exec java -cp "$JARS/postgresql.jar:$JARS/mariadb-java-client.jar" "$1" \
    "$(jdbc_url)"; }
says() { grep -qx "$1" said; }

# waits_and_goes_on FILE: waits while another session holds the name; then does its work, once.
waits_and_goes_on() {
    create_bond
    hold "$NAME"
    snippet "$1"
    until_true somebody_waits
    run ! says locked
    [ "$(handled)" = 0 ]
    let_go
    wait "$snippet" || { cat said; return 1; }
    says locked
    [ "$(handled)" = 1 ]
}

# waits_for_its_lease FILE: queues while the name is held; then does its work, and releases.
waits_for_its_lease() {
    create_bond
    sql "INSERT INTO bond (id, handled) VALUES ('DK0009922320', 0)"
    token=$(rowlock hold --for 1h --note 'ask Ann' import)
    snippet "$1"
    until_true is_waited_for import
    until_true said_of 'waiting at place 1, behind a lease.*ask Ann'
    run ! says leased
    [ "$(handled | paste -sd' ')" = "0 0" ]
    rowlock release import --token "$token"
    wait "$snippet" || { cat said; return 1; }
    says leased
    [ "$(handled | paste -sd' ')" = "1 1" ]
    is_free import
}
said_of() { grep -q "$1" said; }
# learns_of_its_loss FILE: its lease is broken during the first piece of work; it does not begin the
# second.
learns_of_its_loss() {
    create_bond
    sql "INSERT INTO bond (id, handled) VALUES ('DK0009922320', 0)"
    hold_bond
    snippet "$1"
    until_true says leased
    until_true somebody_waits
    rowlock break import
    free_bond
    ends_with 1 "$snippet" || { cat said && false; }
    says 'the lease is lost: another program may work now'
    [ "$(sql "SELECT handled FROM bond ORDER BY id DESC" | paste -sd' ')" = "1 0" ]
    is_free import
}
hold_bond() { # another session has the first row locked
    mkfifo bond.in
    run_sql_session <bond.in >bond.out 2>&1 3>&- 4>&- &
    exec 5>bond.in
    echo "BEGIN; UPDATE bond SET handled = 0 WHERE id = 'DK0015966592'; SELECT 'locked bond';" >&5
    until_true grep -q 'locked bond' bond.out
}
free_bond() {
    echo "ROLLBACK;" >&5
    exec 5>&-
}
run_sql_session() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) exec psql -qXAt "$ROWLOCK_TEST_URL" ;;
    mariadb) option_file && exec mariadb --defaults-file=my.cnf -N -B --unbuffered \
        "${ROWLOCK_TEST_URL##*/}" ;;
    esac
}
