#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/python on a real server with each driver, its types, and the built packages in an empty
# environment with the examples of its README. pip installs the drivers there. The engine mariadb is
# MySQL if MYSQL_BIN is the folder of MySQL's programs.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
load ../surface/lib
. "$BATS_TEST_DIRNAME/../lib/server.sh"

PATH=/usr/bin:$PATH # Debian's python3 has Debian's drivers
CLIENT=$BATS_TEST_DIRNAME/../../clients/python
export PYTHONPATH=$CLIENT/src PYTHONDONTWRITEBYTECODE=1 ROWLOCK
export PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

setup_file() {
    install_technique
    # the packages, in a folder of their own, because setuptools writes beside the sources
    on_postgresql || return 0
    cp -R "$BATS_TEST_DIRNAME/../../clients/python" "$BATS_FILE_TMPDIR/client"
    cd "$BATS_FILE_TMPDIR" || return 1
    environment tools 'setuptools>=77' mypy
    (cd client && ../tools/bin/python -c \
        'from setuptools import build_meta; build_meta.build_sdist("../dist")') >&2
    tools/bin/pip wheel --no-deps --wheel-dir dist ./client >&2
}
environment() { # FOLDER PACKAGE...: an empty one, with these packages
    python3 -m venv --clear "$1"
    "$1"/bin/pip install "${@:2}" >&2
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    case $ROWLOCK_TEST_ENGINE in
    postgresql) drivers="psycopg psycopg2" newest="psycopg asyncpg"
        pools="psycopg_pool psycopg2-binary" ;;
    mariadb) drivers="pymysql MySQLdb" newest=pymysql pools= ;;
    esac
}
teardown() { end_started; }
teardown_file() { [ ! -e "$ROWLOCK_TEST_FOLDER/python_pooler/pid" ] || stop_pooler python_pooler; }

@test "its own tests pass with each driver" {
    python3 "$CLIENT/tests/test_units.py"
    python3 "$CLIENT/tests/test_fake.py"
    for driver in $drivers; do
        echo "$driver"
        for tests in rowlock jobs; do
            ROWLOCK_TEST_DRIVER=$driver \
                python3 -W error::SyntaxWarning "$CLIENT/tests/test_$tests.py"
        done
    done
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] ||
        ROWLOCK_TEST_DRIVER=psycopg python3 "$CLIENT/tests/test_aio.py"
}

@test "its public names and signatures are the recorded ones" {
    on_postgresql || return 0
    python3 "$BATS_TEST_DIRNAME/../surface/python.py" | sed 's/ *$//' | same_as_recorded python
}

@test "asyncio, pools and the frameworks, in their newest versions" {
    # shellcheck disable=SC2086
    environment newest $newest $pools 'sqlalchemy[asyncio]' django
    ROWLOCK_TEST_DRIVER=${newest%% *} newest/bin/python "$CLIENT/tests/test_rowlock.py" -k _of_
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] || for driver in $newest; do
        echo "$driver"
        ROWLOCK_TEST_DRIVER=$driver newest/bin/python "$CLIENT/tests/test_aio.py"
        [ "$driver" != asyncpg ] || # for the blocking half it has no driver
            ROWLOCK_TEST_DRIVER=$driver newest/bin/python "$CLIENT/tests/test_jobs.py" Asyncio
    done
    if on_postgresql; then
        POOL=5 start_pooler python_pooler "$ROWLOCK_TEST_URL"
        export ROWLOCK_TEST_POOLER=$server_url
    fi
    newest/bin/python "$CLIENT/tests/test_pools.py"
}

example() { # [NUMBER]: a program of the README
    awk -v number="${1:-1}" '/^```python$/ {n++; inside = 1; next} /^```$/ {inside = 0}
        inside && n == number' "$CLIENT/README.md" >example.py
    [ -s example.py ]
}

@test "the README's example waits its turn, and does its work" {
    example
    waits_its_turn python3 example.py "$ROWLOCK_TEST_URL"
}

@test "the README's job: one of two programs performs it, and ends at a signal" {
    example 3
    # due once here; MariaDB's server has no zones
    sed -i 's/every="5m"/every="50w"/; s/, zone="Europe\/Berlin"//' example.py
    start python3 example.py "$ROWLOCK_TEST_URL"
    until_true grep -q shares out
    sed 's/jobs\.run()/print(jobs.run_due())/' example.py >once.py
    [ "$(python3 once.py "$ROWLOCK_TEST_URL")" = 0 ]
    kill -s TERM "$started"
    wait "$started"
    [ "$(cat out)" = $'bonds\nshares' ]
    [ "$(rowlock --json jobs prices | jq -r '.[0].last_output')" = '37 prices' ]
}

@test "the README's function for metrics counts what happens" {
    on_postgresql || return 0
    example 5
    environment metrics prometheus_client
    echo "from rowlock.testing import Fake
importing(Fake())
print(prometheus_client.generate_latest().decode())" >>example.py
    metrics/bin/python example.py >counted
    for what in acquired released; do
        grep -F "lease_seconds_count{name=\"import\",what=\"$what\"} 1.0" counted
    done
}

# Outside of the checkout, by the built package; also what its users see when it is lost.
@test "the README's example for asyncio does the same, by psycopg 3 and by asyncpg" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    unset PYTHONPATH
    for driver in $newest; do
        example 2
        environment user "$BATS_FILE_TMPDIR"/dist/rowlock-*.whl "$driver"
        "$BATS_FILE_TMPDIR"/tools/bin/mypy --strict --python-executable user/bin/python example.py
        waits_its_turn user/bin/python example.py "$ROWLOCK_TEST_URL"
        rm out err
        sed -i 's/asyncio.sleep(0.1)/asyncio.sleep(600)/; s/ttl=30/ttl=3/' example.py
        passes_to_a_waiter user/bin/python example.py "$ROWLOCK_TEST_URL"
        reports_a_break \
            "Lost: the lease of 'import' is lost: stop the work done under it" \
            user/bin/python example.py "$ROWLOCK_TEST_URL"
        rm out err
    done
}

# Outside of the checkout, without Debian's packages. The example is checked like its users' code.
@test "the wheel and the sdist, in an empty environment, have the example, and its types" {
    on_postgresql || return 0
    unset PYTHONPATH
    example
    for built in wheel:whl sdist:tar.gz; do
        environment user "$BATS_FILE_TMPDIR"/dist/rowlock-*."${built#*:}" "${drivers%% *}"
        "$BATS_FILE_TMPDIR"/tools/bin/mypy --strict --python-executable user/bin/python example.py
        waits_its_turn user/bin/python example.py "$ROWLOCK_TEST_URL"
        rm out err
    done
    sed -i 's/ttl=30/ttl="30 s"/' example.py
    run ! "$BATS_FILE_TMPDIR"/tools/bin/mypy --strict --python-executable user/bin/python example.py
    [[ $output == *arg-type* ]]
}

@test "it is typed strictly" {
    on_postgresql || return 0
    cd "$BATS_FILE_TMPDIR/client"
    ../tools/bin/mypy src
    export MYPYPATH=$PWD/src
    cat >skips.py <<'END'
import rowlock
import rowlock.aio

@rowlock.exclusive_run("postgresql:///x", "x")
def always(number: int) -> int:
    return number

@rowlock.exclusive_run("postgresql:///x", "x", skip=True, wait=5, note="mine")
def perhaps(number: int) -> int:
    return number

@rowlock.aio.exclusive_run("postgresql:///x", "x", skip=True)
async def later(number: int) -> int:
    return number

async def work() -> None:
    print(always(1) + 1, perhaps(1), await later(1))
END
    ../tools/bin/mypy --strict skips.py
    for wrong in 'perhaps(1) + 1' 'await later(1) + 1' 'perhaps("1")' 'always("1")'; do
        { cat skips.py; echo "    print($wrong)"; } >wrong.py
        run ! ../tools/bin/mypy --strict wrong.py
        [[ $output == *'[operator]'* || $output == *'[arg-type]'* ]]
    done
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

@test "the product has at most 1,200 lines of code, and 400 of jobs, adapters and the fake aside" {
    code() { # JOBS, 0 or 1: of jobs, or the others, without comments and docstrings
        awk -v jobs="$1" 'FNR == 1 {inside = 0; of_jobs = FILENAME ~ /_(jobs|threads).py$/}
            /^class Run/ {of_jobs = 1}
            /^async def release_all/ {of_jobs = 0}
            /^ *"""/ {if (gsub(/"""/, "") == 1) inside = !inside; next}
            FILENAME !~ /(_sources|testing|_install|__main__).py$/ && of_jobs == jobs && !inside &&
                !/^ *(#|$)/' \
            "$CLIENT"/src/rowlock/*.py
    }
    lines=$(code 0 | wc -l) of_jobs=$(code 1 | wc -l)
    [ "$lines" -gt 100 ]
    [ "$lines" -le 1200 ]
    [ "$of_jobs" -gt 100 ]
    [ "$of_jobs" -le 400 ]
}
