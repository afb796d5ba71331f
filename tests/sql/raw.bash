# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of the first article: its table, used by technique insert, and programs that execute
# its two statements and do not use rowlock. A line on their standard input makes them commit.

NAME=BondBO:DK0015966592

install_on_the_article_s_table() {
    client <"$BATS_TEST_DIRNAME/businessobjectlock.sql"
    rowlock schema install --technique insert --table businessobjectlock
}
client() { # the database's own client, with statements on its standard input
    case $ROWLOCK_TEST_ENGINE in
    postgresql) psql -qXAt "$ROWLOCK_TEST_URL" ;;
    mariadb) as_root_of_mariadb -N -B --unbuffered "${ROWLOCK_TEST_URL##*/}" ;;
    esac
}

# raw_begin PROGRAM: starts it in the background; its output goes to the file raw.
raw_begin() {
    rm -f raw raw.in
    mkfifo raw.in
    exec 4>&-
    "raw_$1" <raw.in >raw 2>&1 3>&- 4>&- &
    raw=$!
    exec 4>raw.in
    [ "$1" != client ] || two_statements >&4
}
raw_client() { client; }
raw_python() { /usr/bin/python3 "$BATS_TEST_DIRNAME/businessobjectlock.py" "$ROWLOCK_TEST_URL" \
    "$NAME"; }
two_statements() {
    echo "START TRANSACTION;
          INSERT INTO businessobjectlock (uuid,id,locked_ts)
          VALUES ('0123456789abcdef0123456789abcdef','$NAME',now());
          DELETE FROM businessobjectlock WHERE uuid='0123456789abcdef0123456789abcdef';
          SELECT 'locked';"
}
raw_commit() {
    echo 'COMMIT;' >&4
    exec 4>&-
    wait "$raw"
}
raw_says() { grep -qx "$1" raw; }
is_waited_for_by() { [ "$(waiters)" = "$1" ]; } # COUNT: that many sessions wait for a lock
