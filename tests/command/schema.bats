#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# schema and vacuum: the verbs that create, show and clean rowlock's tables.
# Runs on: sqlite postgresql mariadb
# Quick: sqlite/native postgresql/native mysql

load lib

setup_file() { :; } # nothing is installed

@test "upgrade reports a missing schema; install installs it, and then reports that it exists" {
    place=$ROWLOCK_TEST_URL # without the account, the password and the options
    case $place in *@*) place="${place%%://*}://${place#*@}" ;; esac
    place=${place%%\?*}
    run -69 rowlock schema upgrade
    [[ $output == *"not installed"* || $output == *"does not exist"* ]] # the file
    [[ $output == *"rowlock "*"schema install"* ]]
    run -0 --separate-stderr install_technique
    [ "$output" = "rowlock is installed in $place, technique $ROWLOCK_TEST_TECHNIQUE" ]
    run -0 --separate-stderr install_technique
    [ "$output" = "rowlock is installed already in $place, technique $ROWLOCK_TEST_TECHNIQUE" ]
    run -0 rowlock --json schema install
    [ "$(json '$.schema' <<<"$output")/$(json '$.technique' <<<"$output")" \
        = "present/$ROWLOCK_TEST_TECHNIQUE" ]
    [ "$(json '$.database' <<<"$output")" = "$place" ]
    run -0 rowlock schema upgrade
    run rowlock schema upgrade --json
    [ "$output" = '{"schema":"current"}' ]
}

@test "a verb that reads reports a missing schema, and creates none" {
    [ "$ROWLOCK_TEST_ENGINE" = sqlite ] || rowlock schema uninstall --force
    url=$ROWLOCK_TEST_URL
    if [ "$ROWLOCK_TEST_ENGINE" = sqlite ]; then
        sqlite3 own.db 'CREATE TABLE mine (a); INSERT INTO mine VALUES (1)'
        sqlite3 own.db .dump >before
        url=sqlite:$PWD/own.db
    fi
    for verb in ls 'ls a' 'ls --tree' log top '--json top' jobs 'jobs a' 'jobs --check' \
        'jobs a --forget' subjects 'subjects a' metrics 'check a --token 7' \
        'release a --token 7' 'break a' 'expire a'; do
        # shellcheck disable=SC2086
        runs 69 "$ROWLOCK" --db "$url" $verb
        [[ $output == *"rowlock is not installed in this database"* ]]
        [[ $output == *"rowlock schema install"* ]]
    done
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || sqlite3 own.db .dump | cmp - before
    [ "$ROWLOCK_TEST_ENGINE" = sqlite ] || install_technique
}

@test "an error while the lock of installers is taken does not name another node" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    sql 'REVOKE EXECUTE ON FUNCTION pg_catalog.pg_advisory_xact_lock(bigint) FROM PUBLIC'
    run rowlock schema uninstall --force
    sql 'GRANT EXECUTE ON FUNCTION pg_catalog.pg_advisory_xact_lock(bigint) TO PUBLIC'
    echo "$output"
    [ "$status" = 69 ]
    [[ $output == *"taking the lock of installers: permission denied"* ]]
}

# The servers of the tests run with settings that lose commits in a crash.
@test "install warns of a server that may lose commits, and does not in JSON" {
    run -0 --separate-stderr install_technique
    warning="rowlock: warning: the server runs with"
    case $ROWLOCK_TEST_ENGINE in
    sqlite) [ "$stderr" = "" ] ;;
    postgresql) [[ $stderr == "$warning fsync and full_page_writes off: "*"turn that on" ]] ;;
    mariadb) [[ $stderr == "$warning innodb_flush_log_at_trx_commit = 2: "*"set it to 1" ]] ;;
    esac
    # shellcheck disable=SC2154
    [ ${#stderr_lines[@]} -le 1 ]
    run -0 --separate-stderr rowlock schema install --json
    [ "$stderr" = "" ]
}

@test "uninstall removes it and reports that, or reports that nothing is installed" {
    install_technique
    run -0 rowlock schema uninstall
    [[ $output == removed:* ]]
    run -0 rowlock schema uninstall
    [ "$output" = "rowlock is not installed in this database" ]
    run rowlock --json schema uninstall
    [ "$output" = '{"schema":"absent"}' ]
    install_technique
    run rowlock --json schema uninstall
    [ "$output" = '{"schema":"removed"}' ]
}

@test "vacuum reports how many rows it removed" {
    install_technique
    rowlock demo --workers 2 --hold 1 >/dev/null
    run -0 rowlock vacuum
    [[ $output =~ ^[0-9]+\ rows\ removed$ ]]
    run -0 rowlock vacuum --json
    [ "$output" = '{"removed":0}' ]
    if [ "$ROWLOCK_TEST_TECHNIQUE" = row ]; then
        rowlock run --tx unprepared -- true # names that were prepared stay
        run rowlock --json vacuum
        [ "$output" = '{"removed":1}' ]
    fi
    rowlock schema uninstall
}
