#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command on engines without functions of rowlock: PostgreSQL and MariaDB through ODBC; Derby,
# H2 and HSQLDB through JDBC.
# Needs: derby h2 hsqldb postgresql mariadb
# Quick: never

load lib

engines() { echo postgresql mariadb derby h2 hsqldb; }
# ENGINE [PASSWORD]: its odbc: or jdbc: URL
url_of() {
    local variable=ROWLOCK_TEST_${1^^} file=psqlodbcw.so account=UID=tester port database
    case $1 in
    hsqldb) echo "${!variable}${2:-}" && return ;; # its password is empty
    derby | h2) echo "${!variable/%secret/${2:-secret}}" && return ;;
    esac
    [ "$1" = postgresql ] || { file=libmaodbc.so account="UID=rowlock;PWD=${2:-secret}"; }
    port=ROWLOCK_TEST_${1^^}_PORT database=${!variable##*/}
    printf 'odbc:Driver=%s;Server=127.0.0.1;Port=%s;Database=%s;%s\n' \
        "$(odbc_driver "$file")" "${!port}" "$database" "$account"
}
odbc_driver() { # FILE: its path
    find /usr/lib* -name "$1" -print -quit
}

# on_each COMMAND...: runs it on each engine, in a folder of its own
on_each() {
    local engine
    for engine in $(engines); do
        echo "# on $engine"
        mkdir "$BATS_TEST_TMPDIR/$engine" && cd "$BATS_TEST_TMPDIR/$engine" || return 1
        ROWLOCK_TEST_URL=$(url_of "$engine")
        "$@" "$engine"
    done
}

setup_file() {
    local engine
    # shellcheck disable=SC2030
    export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" # it cannot read the memory of a JVM
    for engine in $(engines); do
        "$ROWLOCK" --db "$(url_of "$engine")" schema install
    done
}

excludes() {
    run -0 rowlock run backup -- echo done
    [ "$output" = done ]
    run -3 rowlock run backup -- sh -c 'exit 3'
    hold_by run backup
    run -75 rowlock run -n backup -- touch overlap
    [[ $output == *backup* ]]
    [ ! -e overlap ]
    run -0 rowlock ls backup
    [[ $output == *backup* ]]
    [ "$(item backup '$[0].name')" = backup ]
    let_go
    run -0 rowlock run -n backup -- true
    run -75 rowlock run --tx backup -- \
        "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -n backup -- touch overlap
    [ ! -e overlap ]
    until_true is_free backup
}
@test "p1: run excludes another run, and ls shows the holder" { on_each excludes; }

# A Java virtual machine survives no fork: each clone, and each sender, has one of its own.
shows_clones() {
    rowlock demo clones --json --ttl 6s >json
    cat json
    for act in 1:5:0 2:1:0 3:1:0 4:1:1; do
        IFS=: read -r number sent refused <<<"$act"
        grep "^{\"act\":$number,\"event\":\"counts\",\"due\":1,\"sent\":$sent,.*$(
        )\"late_refused\":$refused," json
    done
    run -0 rowlock jobs --json
    [[ $output != *demo:clones* ]]
}
@test "p4: demo clones sends each mail once" { on_each shows_clones; }

warns_of_a_second_schema() { # each account has a schema of its own there
    local second=${ROWLOCK_TEST_URL/user=app/user=second}
    rowlock schema install # in the quick scope no other test uses Derby
    run -69 "$ROWLOCK" --db "${second/;create=true/}" ls
    [[ $output == *"not installed in this database; run: rowlock schema install; but if "* ]]
    [[ $output == *"make that schema this account's default"* ]]
}
@test "p1: an account with another default schema is warned of a second set of tables" {
    engines() { echo derby; }
    on_each warns_of_a_second_schema
}

examines() {
    rowlock schema install
    rowlock vacuum
    run rowlock doctor
    [ "$status" -le 1 ]
    for check in driver server schema leases jobs transactions clock self-test; do
        [ "$(grep -cE "^ok +$check  " <<<"$output")" = 1 ]
    done
    [[ $output != *"  privileges  "* && $output != *"  pooler  "* ]] # not known of these engines
    [ "$(rowlock vacuum)" = "0 rows removed" ]
    [ "$1" = postgresql ] || return 0 # for the others there is no client that writes
    rowlock acquire --ttl 1h forgotten >/dev/null
    psql -qXAt "$ROWLOCK_TEST_POSTGRESQL_ADMIN" \
        -c 'UPDATE rowlock_heartbeat SET expires = expires - 3720000'
    run -1 rowlock doctor --only leases
    [[ $output == warn*"1 expired more than a minute ago and not swept  -> rowlock vacuum" ]]
    rowlock vacuum
}
@test "doctor: the self-test passes, and leaves nothing behind" { on_each examines; }

refuses_the_old_views() { # an option of the session: they lack the column of the clock
    runs 69 "$ROWLOCK" --db "$ROWLOCK_TEST_URL;OLD_INFORMATION_SCHEMA=TRUE" run x -- touch ran
    [[ $output == *"; use a URL without OLD_INFORMATION_SCHEMA=TRUE"* ]]
    [ ! -e ran ]
    runs 2 "$ROWLOCK" --db "$ROWLOCK_TEST_URL;OLD_INFORMATION_SCHEMA=TRUE" doctor --only server
    [[ $output == FAIL*"  server  "*"; use a URL without OLD_INFORMATION_SCHEMA=TRUE" ]]
    runs 0 rowlock run x -- true
}
@test "p1: H2 with the views of its former version is refused, and the URL's option named" {
    engines() { echo h2; }
    on_each refuses_the_old_views
}
