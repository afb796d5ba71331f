#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# schema install, upgrade and uninstall on a damaged schema, without a privilege, without a
# database, and while rowlock is in use.
# Runs on: sqlite postgresql mariadb
# Quick: mariadb/row

load lib
load roles

setup_file() { :; } # nothing is installed
teardown() {
    rowlock schema uninstall --force || true
    # without the row of meta it is no longer recognized as rowlock's
    sql "DROP TABLE IF EXISTS rowlock_object"
}

drop() { # KIND NAME
    local cascade=
    [ "$ROWLOCK_TEST_ENGINE" != postgresql ] || cascade=CASCADE
    sql "DROP $1 $2 $cascade"
}
relations() { # KIND NAME of each object
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "SELECT CASE relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW'
                             WHEN 'i' THEN 'INDEX'
                             ELSE 'SEQUENCE' END
                            || ' rowlock.' || relname
                       FROM pg_class c WHERE relnamespace = 'rowlock'::regnamespace
                       AND relkind IN ('r', 'v', 'S', 'i')
                        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = c.oid)" ;;
    mariadb) sql "SELECT CONCAT(CASE table_type WHEN 'VIEW' THEN 'VIEW '
                          WHEN 'SEQUENCE' THEN 'SEQUENCE '
                          ELSE 'TABLE ' END,
                                table_name)
                    FROM information_schema.tables WHERE table_schema = DATABASE()
                    AND table_name LIKE 'rowlock%'" ;;
    sqlite) sql "SELECT upper(type) || ' ' || name FROM sqlite_master WHERE type <> 'trigger'
                 AND name LIKE 'rowlock%'" ;;
    esac
}
routines() { # a few, in another order than in the schema
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "SELECT 'FUNCTION ' || oid::regprocedure FROM pg_proc
                      WHERE pronamespace = 'rowlock'::regnamespace ORDER BY md5(proname) LIMIT 8" ;;
    mariadb) sql "SELECT CONCAT('PROCEDURE ', routine_name) FROM information_schema.routines
                   WHERE routine_schema = DATABASE() ORDER BY SHA2(routine_name, 256) LIMIT 8"
        echo PROCEDURE rowlock_session ;;
    sqlite) sql "SELECT 'TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger'
                 AND name LIKE 'rowlock%'" ;;
    esac
}
n_objects() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "SELECT count(*) FROM pg_namespace WHERE nspname = 'rowlock'" ;;
    mariadb) sql "SELECT (SELECT count(*) FROM information_schema.tables
                           WHERE table_schema = DATABASE() AND table_name LIKE 'rowlock%')
                       + (SELECT count(*) FROM information_schema.routines
                       WHERE routine_schema = DATABASE())" ;;
    sqlite) sql "SELECT count(*) FROM sqlite_master WHERE name LIKE 'rowlock%'" ;;
    esac
}
token() { # acquires and releases a lease
    local token
    token=$(rowlock acquire -w 20 --ttl 1m x) || return 1
    rowlock release x --token "$token" >&2 || return 1
    echo "$token"
}

@test "p3_whatever is dropped, install recreates and reports it; tokens rise, counters continue" {
    install_technique
    rowlock next numbers
    { relations; routines; } >all
    [ "$(wc -l <all)" -gt 15 ]
    # MariaDB recreates every procedure each time, and commits: there some of them represent all
    awk -v engine="$ROWLOCK_TEST_ENGINE" \
        'engine != "mariadb" || NR % 5 == 1 || /meta|token|session/' all >objects
    before=$(token)
    while read -r kind name <&4; do
        drop "$kind" "$name"
        echo "$kind $name:"
        runs 0 rowlock schema install --technique "$ROWLOCK_TEST_TECHNIQUE"
        [[ $output == *"repaired"* ]]
        run -0 rowlock schema install
        [[ $output == *"installed already"* ]]
        after=$(token)
        [ "$after" -gt "$before" ]
        before=$after
        [ "$name" != "${ours}counter" ] || rowlock next numbers
        [ "$ROWLOCK_TEST_ENGINE" = sqlite ] || rowlock run --tx -w 20 x -- true
    done 4<objects
    [ "$(rowlock next numbers)" = 2 ]
}

@test "upgrade repairs too; run names the verb that repairs" {
    install_technique
    drop TABLE "${ours}lease"
    drop TABLE "${ours}subject"
    run -69 rowlock run -n x -- true
    [[ $output == *"run: rowlock schema install"* ]]
    run -0 rowlock --json schema upgrade
    [ "$(json '$.schema' <<<"$output")" = repaired ]
    [[ $(json '$.missing' <<<"$output") == *"table "*lease* ]]
    rowlock run -n x -- true
    run rowlock schema upgrade
    [ "$output" = "the schema is current" ]
}

@test "the rows that describe the schema are gone: install restores, uninstall --force removes it" {
    install_technique
    sql "DELETE FROM ${ours}meta"
    run -69 rowlock schema upgrade
    [[ $output == *"run: rowlock schema install"* ]]
    install_technique
    rowlock run -n x -- true
    sql "DELETE FROM ${ours}meta"
    rowlock schema uninstall --force
    expected=0
    [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] || [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || expected=1
    [ "$(n_objects)" = $expected ] ||
        [ "$ROWLOCK_TEST_TECHNIQUE/$(n_objects)" = insert/3 ] # SQLite's, with its two indexes
    sql "DROP TABLE IF EXISTS rowlock_object"
}

@test "p1_without the row of meta install does not guess the technique, and uninstall refuses" {
    for damage in DELETE DROP; do
        install_technique
        token=$(rowlock hold --for 5m --note test farm)
        rowlock next "$damage"
        case $damage in
        DELETE) sql "DELETE FROM ${ours}meta" ;;
        DROP) drop TABLE "${ours}meta" ;;
        esac
        run -69 rowlock schema install
        [[ $output == *"--table"*"rowlock schema install --technique T"* ]]
        run -69 rowlock run -n x -- true # SQLite installs by itself where no schema exists
        run -75 rowlock schema uninstall
        [[ $output == *"rowlock schema uninstall --force"* ]]
        install_technique | tee repaired
        case $damage in
        DELETE) grep -q 'missing were: the row of meta; ' repaired ;;
        DROP) grep -q "missing were: table ${ours#rowlock.}meta" repaired ;;
        esac
        if grep -qE 'function|procedure|trigger' repaired; then return 1; fi
        run rowlock schema install
        [[ $output == *"installed already"*"technique $ROWLOCK_TEST_TECHNIQUE"* ]]
        rowlock release farm --token "$token"
        [ "$(rowlock next "$damage")" = 2 ]
    done
}

@test "a missing column is named, and the advice works" {
    install_technique
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "ALTER TABLE rowlock.run DROP COLUMN output CASCADE" ;;
    mariadb) sql "ALTER TABLE rowlock_run DROP COLUMN output" ;;
    sqlite) sql "DROP VIEW rowlock_jobs; ALTER TABLE rowlock_run DROP COLUMN output" ;;
    esac
    for verb in install upgrade; do
        run -69 rowlock schema $verb
        advice="run: rowlock schema uninstall --force, then rowlock schema install"
        [[ $output == *"column ${ours#rowlock.}run.output"*"$advice"* ]]
    done
    run -69 rowlock schema uninstall
    rowlock schema uninstall --force
    install_technique
    rowlock run -n x -- true
}

@test "uninstall refuses while names or leases exist, lists them, and obeys --force" {
    install_technique
    token=$(rowlock hold --for 5m --note test farm)
    run -75 rowlock schema uninstall
    [[ $output == *"leases: 1 (farm)"*"rowlock schema uninstall --force" ]]
    rowlock next invoice
    rowlock job nightly --every 50w -- true
    rowlock refresh prices --max-age 1h -- true
    start_waiter farm
    run -75 rowlock schema uninstall
    [[ $output == *"leases: 1 (farm); waiters: 1 (farm); "* ]]
    [[ ${output#*waiters: 1} == \
        *"counters: 1 (invoice); jobs: 1 (nightly); subjects: 1 (prices);"* ]]
    [ "$(rowlock next invoice)" = 2 ]
    kill -s TERM "$started"
    rowlock release farm --token "$token"
    run -75 rowlock schema uninstall
    [[ $output != *leases* ]]
    rowlock schema uninstall --force
    [ "$(n_objects)" = 0 ]
    run -64 rowlock schema install --force
    run -64 rowlock schema print --force
}

@test "uninstall sees transactions that hold a lock" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0 # waits for their end
    # the server does not show them
    [ "$ROWLOCK_TEST_ENGINE/$ROWLOCK_TEST_TECHNIQUE" != mariadb/insert ] || return 0
    install_technique
    hold x
    run -75 rowlock schema uninstall
    [[ $output == *"transactions: 1"* ]]
    let_go
    rowlock schema uninstall
    [ "$(n_objects)" = 0 ]
}

@test "a URL without a database, and one with a missing database, are named" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    for verb in "schema install" "schema upgrade" "schema uninstall" "run -n x -- true" ls; do
        # shellcheck disable=SC2086
        run "$ROWLOCK" --db "${ROWLOCK_TEST_URL%/*}" $verb
        echo "$verb: $output"
        if [ "$ROWLOCK_TEST_ENGINE" = mariadb ]; then
            [ "$status" = 64 ]
            [[ $output == *"the URL names no database"*"://USER@HOST/DATABASE"* ]]
        else
            [ "$status" = 69 ]
            reason="the URL names no database, so the user's name was taken"
            [[ $output == *"database \"tester\" does not exist"*"$reason"* ]]
        fi
        # shellcheck disable=SC2086
        runs 69 "$ROWLOCK" --db "${ROWLOCK_TEST_URL%/*}/not_there" $verb
        [[ $output == *not_there* ]]
        [[ $output != *"no database"* ]]
    done
}

# The database with the account's name exists, and libpq selects it, so the message must name it.
@test "a URL without a database: the message names the database that was used" {
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || return 0
    role=${ROWLOCK_TEST_URL##*/}
    sql "CREATE ROLE $role LOGIN"
    sql "ALTER DATABASE $role OWNER TO $role"
    url=postgresql://$role@${ROWLOCK_TEST_URL#*@}
    run -69 "$ROWLOCK" --db "${url%/*}" schema upgrade
    [[ $output == *"this database, $role; run"* ]]
    sql "ALTER DATABASE $role OWNER TO tester; DROP ROLE $role"
}

@test "without a privilege nothing changes, and the printed GRANT is enough" {
    [ "$ROWLOCK_TEST_ENGINE" != sqlite ] || return 0
    role=needs_${ROWLOCK_TEST_URL##*_}
    url=$(url_of_role "$role")
    create_role "$role"
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "REVOKE CREATE ON SCHEMA public FROM PUBLIC" ;;
    mariadb) sql "GRANT CREATE, CREATE VIEW, SELECT, INSERT, UPDATE, DELETE
                  ON ${ROWLOCK_TEST_URL##*/}.* TO $role@'%'" ;;
    esac
    run -69 "$ROWLOCK" --db "$url" schema install --technique "$ROWLOCK_TEST_TECHNIQUE"
    [[ $output != *"schema print"* ]]
    [[ $output == *"an administrator can allow it: GRANT "* ]]
    [ "$(n_objects)" = 0 ]
    grants=${output#*allow it: }
    sql "${grants%% (database*}"
    "$ROWLOCK" --db "$url" schema install --technique "$ROWLOCK_TEST_TECHNIQUE"
    "$ROWLOCK" --db "$url" run -n x -- true
    "$ROWLOCK" --db "$url" run --tx -n x -- true
    if [ "$ROWLOCK_TEST_ENGINE" = postgresql ]; then # another role learns the owner
        run -69 rowlock schema uninstall --force
        [[ $output == *"belongs to $role; run it as that role"* ]]
    fi
    "$ROWLOCK" --db "$url" schema uninstall
    [ "$(n_objects)" = 0 ]
    drop_role "$role"
}

# Remains of an older rowlock, which noticed the missing privilege only after the first tables.
@test "remains without the row in meta: install --technique completes, uninstall --force removes" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0
    for end in install uninstall; do
        rowlock schema print --technique "$ROWLOCK_TEST_TECHNIQUE" |
            awk '/^CREATE TABLE/ && n++ < 4 { on = 1 } on { print } /;$/ { on = 0 }' >four.sql
        as_root_of_mariadb "${ROWLOCK_TEST_URL##*/}" <four.sql
        [ "$(n_objects)" = 4 ]
        run rowlock run -n x -- true
        [[ $output == *"is not installed in this database; run: rowlock schema install"* ]]
        run rowlock schema upgrade
        [[ $output == *"is not installed in this database; run: rowlock schema install"* ]]
        if [ $end = install ]; then
            install_technique
            rowlock run -n x -- true
            rowlock schema uninstall
        else
            run -75 rowlock schema uninstall
            rowlock schema uninstall --force
        fi
        [ "$(n_objects)" = 0 ]
    done
}

# Only root, or an account like it, may drop on MySQL what root has created.
as_installer() {
    if is_mysql; then
        mariadb --no-defaults --socket="$ROWLOCK_TEST_MARIADB_SOCKET/socket" -u rowlock "$@"
    else
        as_root_of_mariadb "$@"
    fi
}

@test "after an interrupted install or uninstall, install completes and uninstall removes it" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0
    options=(--technique "$ROWLOCK_TEST_TECHNIQUE")
    [ "$ROWLOCK_TEST_TECHNIQUE" = row ] || options+=(--table mine)
    other=insert
    [ "$ROWLOCK_TEST_TECHNIQUE" = row ] || other=row
    rowlock schema print "${options[@]}" |
        awk '/^CREATE TABLE/ && ++n > 4 { exit } { print }' >installing.sql
    if is_mysql; then
        "$BATS_TEST_DIRNAME/../../tools/derive-schema" mysql mariadb uninstall
    else
        cat "$BATS_TEST_DIRNAME/../../sql/mariadb/schema/uninstall.sql"
    fi | sed '/^{own_mode};$/d; /{procedure}/ { s//rowlock_sweep/; q; }' >uninstalling.sql
    for cut in installing uninstalling; do
        for end in install uninstall; do
            [ $cut = installing ] || rowlock schema install "${options[@]}"
            as_installer "${ROWLOCK_TEST_URL##*/}" <$cut.sql
            run rowlock run -n x -- true
            [[ $output == *"is not installed in this database"* ]]
            if [ $end = install ]; then
                if ! is_mysql; then # which has one technique
                    run -64 rowlock schema install --technique $other
                    [[ $output == *"was interrupted"*"rowlock schema uninstall"* ]]
                fi
                run -0 rowlock schema install
                [[ $output == *"technique $ROWLOCK_TEST_TECHNIQUE"* ]]
                run -0 rowlock schema install "${options[@]}"
                rowlock run -n x -- true
            fi
            rowlock schema uninstall
            [ "$(n_objects)" = 0 ]
            [ -z "$(sql "SHOW TABLES LIKE 'mine'")" ]
        done
    done
}
