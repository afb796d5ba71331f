#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tables of an older dump are restored beside tables of today: what the tables say is held excludes
# others, and tokens rise.
# Runs on: postgresql/native

load lib

setup_file() { install_technique; }
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

tables='heartbeat lease least_token origin' numbers='lifted lifted_for number'
dump() { # FILE: also lists the entries of each table, and those of the sequences
    local table
    pg_dump -Fc --data-only --schema rowlock "$ROWLOCK_TEST_ADMIN" >"$1"
    pg_restore -l "$1" >list
    for table in $tables; do grep " TABLE DATA rowlock $table " list >"$1.$table"; done
    grep -E " SEQUENCE SET rowlock (${numbers// /|}) " list >"$1.numbers"
}
# The sets of tables and, as one, of sequences.
sets() {
    local set=("") table
    for table in $tables numbers; do set+=("${set[@]/%/ $table}"); done
    printf '%s\n' "${set[@]}"
}
# restore FIRST SECOND TABLE...: these tables are those of the first dump, the others those of the
# second, which is restored after it.
restore() {
    local first=$1 second=$2 table statements=()
    shift 2
    for table in $tables; do statements+=(-c "DELETE FROM rowlock.$table"); done
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" "${statements[@]}"
    : >"$first.list" >"$second.list"
    for table in $tables numbers; do
        case " $* " in
        *" $table "*) cat "$first.$table" >>"$first.list" ;;
        *) cat "$second.$table" >>"$second.list" ;;
        esac
    done
    pg_restore --data-only -L "$first.list" -d "$ROWLOCK_TEST_ADMIN" "$first"
    pg_restore --data-only -L "$second.list" -d "$ROWLOCK_TEST_ADMIN" "$second"
}
held() { # the names of leases that last, as the tables say
    sql "SELECT DISTINCT l.name FROM rowlock.lease l JOIN rowlock.heartbeat b USING (token)
         WHERE b.expires > now() ORDER BY 1"
}
# Each name has a least token that is greater than its lease in the other dump.
make_dumps() {
    local name
    for name in a b; do rowlock acquire --ttl 1d "$name"; done >tokens
    dump old
    rowlock release a --token "$(head -n 1 tokens)"
    rowlock release b --token "$(tail -n 1 tokens)"
    sql "INSERT INTO rowlock.least_token SELECT n, nextval('rowlock.number')
         FROM unnest(ARRAY['a', 'b', 'c']) n" >/dev/null
    newest=$(rowlock acquire --ttl 1d b)
    rowlock acquire --ttl 1d c >/dev/null
    dump new
}

@test "p1 what is held after a part of a dump was restored excludes others, and tokens rise" {
    make_dumps
    [ "$(sets | wc -l)" = 32 ]
    for order in "old new" "new old"; do
        while read -r -a set; do
            echo "$order: ${set[*]}"
            # shellcheck disable=SC2086
            restore $order "${set[@]}"
            held >held
            while read -r name; do
                run rowlock acquire -n --ttl 1m "$name"
                echo "$name: $output"
                [ "$status" = 75 ]
            done <held
            [ "$(rowlock acquire -n --ttl 1m another)" -gt "$newest" ]
            for name in a b c; do
                grep -qx "$name" held || rowlock acquire -n --ttl 1m "$name" >/dev/null
            done
            [ -z "$(rowlock --json ls | jq -r '.[] | select(.state == "held").name' | uniq -d)" ]
        done < <(sets)
    done
}
