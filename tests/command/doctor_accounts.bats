#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# doctor: the privileges of an account.
# Runs on: postgresql mariadb
# Quick: first

load lib
load doctor.bash
load roles

role() { echo "doctor_${ROWLOCK_TEST_TECHNIQUE}_$1"; }
add_role() { # NAME: sets url
    create_role "$(role "$1")"
    url=$(url_of_role "$(role "$1")")
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] ||
        sql "GRANT SELECT ON rowlock_subjects TO $(role "$1")@'%'" # so that it can connect
}
# NAME: all that was granted to it, one a line, without its name. The trigger's function is not
# among them: GRANT ... ON ALL FUNCTIONS includes it, and the schema's GRANTs revoke it.
granted_to() {
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        sql "SELECT c.relname, x.privilege_type FROM pg_class c, aclexplode(c.relacl) x
              WHERE x.grantee = '$(role "$1")'::regrole
             UNION ALL
             SELECT c.relname || '.' || a.attname, x.privilege_type
               FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid, aclexplode(a.attacl) x
              WHERE x.grantee = '$(role "$1")'::regrole
             UNION ALL
             SELECT p.proname, x.privilege_type FROM pg_proc p, aclexplode(p.proacl) x
              WHERE x.grantee = '$(role "$1")'::regrole AND p.proname <> 'lock_object'
             UNION ALL
             SELECT n.nspname, x.privilege_type FROM pg_namespace n, aclexplode(n.nspacl) x
              WHERE x.grantee = '$(role "$1")'::regrole"
        ;;
    mariadb) sql "SHOW GRANTS FOR $(role "$1")@'%'" | sed "s/$(role "$1")/ROLE/" ;;
    esac | sort
}

# The table of technique insert is known as soon as the account may read rowlock's.
paste_advice() {
    advice privileges --db "$url" >advice
    paste_in <advice
    [ "$ROWLOCK_TEST_TECHNIQUE" != insert ] || advice privileges --db "$url" | paste_in
}

@test "privileges: the missing GRANTs, pasted, are those of the schema, and the self-test passes" {
    add_role a
    finds ok privileges '*'
    finds FAIL privileges '*lacks *-> GRANT *;' --db "$url"
    paste_advice
    finds ok privileges '*' --db "$url"
    finds ok self-test '*' --db "$url"
    run -69 "$ROWLOCK" --db "$url" schema set history all # which no GRANT of these allows
    [[ $output == *denied*"; use the account that installed rowlock"* ]]
    add_role b
    print_grants "$(role b)" | paste_in
    granted_to a >pasted
    granted_to b >printed
    [ -s printed ]
    diff printed pasted
    drop_role "$(role a)"
    drop_role "$(role b)"
}

@test "privileges: EXECUTE on a database of MariaDB includes the procedures that a restore lacks" {
    [ "$ROWLOCK_TEST_ENGINE" = mariadb ] || return 0
    sql "DROP PROCEDURE rowlock_list"
    finds FAIL schema '*procedure rowlock_list *-> rowlock schema install*'
    finds ok privileges '*'
    rowlock schema install
    finds ok schema '*'
}

@test "privileges: a single one" {
    add_role c
    paste_advice
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        echo "REVOKE DELETE ON rowlock.lease FROM $(role c);
            REVOKE USAGE ON SEQUENCE rowlock.number FROM $(role c)" | paste_in
        expected="GRANT DELETE ON rowlock.lease TO $(role c); "
        expected+="GRANT USAGE ON SEQUENCE rowlock.number TO $(role c);"
        ;;
    mariadb)
        here=${ROWLOCK_TEST_URL##*/}
        on="PROCEDURE rowlock_next" granted="PROCEDURE \`$here\`.rowlock_next"
        if is_mysql; then on="*" granted="\`$here\`.*"; fi
        echo "REVOKE DELETE ON rowlock_lease FROM $(role c)@'%';
            REVOKE EXECUTE ON $on FROM $(role c)@'%'" | paste_in
        expected="GRANT EXECUTE ON $granted TO '$(role c)'@'%'; "
        expected+="GRANT DELETE ON \`$here\`.rowlock_lease TO '$(role c)'@'%';"
        ;;
    esac
    [ "$(advice privileges --db "$url")" = "$expected" ]
    echo "$expected" | paste_in
    finds ok privileges '*' --db "$url"
    drop_role "$(role c)"
}

# A privilege that locks need fails the check beside it.
@test "privileges: one that only the history needs is a warning, and locks hold without it" {
    add_role h
    paste_advice
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        echo "REVOKE ALL ON rowlock.history FROM $(role h)" | paste_in
        needed="REVOKE DELETE ON rowlock.lease FROM $(role h)"
        ;;
    mariadb)
        is_mysql || for procedure in log_end log_waiter list_history prune prune_row; do
            echo "REVOKE EXECUTE ON PROCEDURE rowlock_$procedure FROM $(role h)@'%';"
        done | paste_in
        echo "REVOKE SELECT, INSERT, DELETE ON rowlock_history FROM $(role h)@'%'" | paste_in
        needed="REVOKE DELETE ON rowlock_lease FROM $(role h)@'%'"
        ;;
    esac
    finds warn privileges '*lacks *history, which only the history needs*-> GRANT *;' --db "$url"
    run -1 rowlock --db "$url" doctor
    [[ $output != *FAIL* ]]
    rowlock --db "$url" vacuum
    advice privileges --db "$url" >advice
    echo "$needed" | paste_in
    finds FAIL privileges '*lacks DELETE on *lease*, which only the history needs*' --db "$url"
    paste_in <advice
    finds FAIL privileges '*lacks DELETE on *lease*' --db "$url"
    [[ $output != *history* ]]
    paste_advice
    finds ok privileges '*' --db "$url"
    drop_role "$(role h)"
}

@test "privileges: those of a role count as the account's own" {
    add_role d
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "CREATE ROLE $(role d)_all; GRANT $(role d)_all TO $(role d)" ;;
    mariadb)
        sql "CREATE ROLE $(role d)_all; GRANT $(role d)_all TO $(role d)@'%';
             SET DEFAULT ROLE $(role d)_all $(is_mysql && echo TO || echo FOR) $(role d)@'%'"
        ;;
    esac
    print_grants "$(role d)_all" | paste_in
    finds ok privileges '*' --db "$url"
    case $ROWLOCK_TEST_ENGINE in
    postgresql) sql "DROP OWNED BY $(role d)_all; DROP ROLE $(role d)_all" ;;
    mariadb) sql "DROP ROLE $(role d)_all" ;;
    esac
    drop_role "$(role d)"
}

# The last one: it removes the schema.
@test "privileges: before the install one line names the remedy, and there is no GRANT to paste" {
    rowlock schema uninstall
    run -2 rowlock doctor
    [ "$(grep -c ^FAIL <<<"$output")" = 1 ]
    [[ $output == *"FAIL  schema "*"not installed"*"-> run: rowlock schema install"* ]]
    [[ $output != *GRANT* && $output != *"  tables "* ]]
    add_role e 2>grants || true # MariaDB: there is no object on which an account may be granted one
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || sql "CREATE TABLE its_own (n INT);
        GRANT SELECT ON its_own TO $(role e)@'%'"
    run rowlock --db "$url" doctor --only privileges
    case $ROWLOCK_TEST_ENGINE in
    postgresql) [ "$output" = "" ] ;;
    mariadb) [[ $output == FAIL*GRANT* ]] ;; # it would see no schema of another account's
    esac
    [ "$ROWLOCK_TEST_ENGINE" = postgresql ] || sql "DROP TABLE its_own"
    drop_role "$(role e)"
}
