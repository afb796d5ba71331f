#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/python on a real server with each driver, and the example of its README.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash

PATH=/usr/bin:$PATH # Debian's python3 has Debian's drivers
CLIENT=$BATS_TEST_DIRNAME/../../clients/python
export PYTHONPATH=$CLIENT/src PYTHONDONTWRITEBYTECODE=1 ROWLOCK

setup_file() { install_technique; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    case $ROWLOCK_TEST_ENGINE in
    postgresql) drivers="psycopg psycopg2" ;;
    mariadb) drivers="pymysql MySQLdb" ;;
    esac
}
teardown() { end_started; }

@test "its own tests pass with each driver" {
    for driver in $drivers; do
        echo "$driver"
        ROWLOCK_TEST_DRIVER=$driver python3 -W error::SyntaxWarning "$CLIENT/tests/test_rowlock.py"
    done
}

example() { # the program of the README
    sed -n '/^```python$/,/^```$/{/^```/d;p}' "$CLIENT/README.md" >example.py
    [ -s example.py ]
}

@test "the README's example waits its turn, and does its work" {
    example
    waits_its_turn python3 example.py "$ROWLOCK_TEST_URL"
}

@test "a killed holder's lease passes to a waiter; a broken one is reported" {
    example
    sed -i 's/^        print(part.*/        import time; time.sleep(600)/
            s/ttl=30/ttl=3/' example.py
    passes_to_a_waiter python3 example.py "$ROWLOCK_TEST_URL"
    sed -i 's/time.sleep(600)/lease.lost.wait(600)/' example.py
    reports_a_break \
        "Lost: the lease of 'import' is lost: stop the work done under it" \
        python3 example.py "$ROWLOCK_TEST_URL"
}

@test "the product has at most 600 lines" {
    [ "$(cat "$CLIENT"/src/rowlock/*.py | wc -l)" -le 600 ]
}
