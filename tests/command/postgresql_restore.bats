#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tables of an older dump are restored beside tables of today: what the tables say is held excludes
# others, and tokens rise.
# Runs on: postgresql/native
# Quick: never

load lib

# Those that decide who holds a name, each by itself. The sequences are mixed as one, and in the
# full scope so are the other tables. Each other table is also restored alone.
tables='heartbeat lease least_token origin' numbers='lifted lifted_for number'
dump() { # FILE: also lists the entries of each table, and those of the sequences
    local table
    pg_dump -Fc --data-only --schema rowlock "$ROWLOCK_TEST_ADMIN" >"$1"
    pg_restore -l "$1" >list
    all=$(sed -n 's/^.* TABLE DATA rowlock \([a-z_]*\) .*/\1/p' list)
    others=$(comm -13 <(tr ' ' '\n' <<<"$tables" | sort) <(sort <<<"$all") | tr '\n' ' ')
    for table in $all; do grep " TABLE DATA rowlock $table " list >"$1.$table"; done
    grep -E " SEQUENCE SET rowlock (${numbers// /|}) " list >"$1.numbers"
}
sets() {
    local set=("") part parts=("${others% }")
    [ "$ROWLOCK_TEST_EFFORT" = full ] || parts=()
    for part in $tables numbers "${parts[@]}"; do set+=("${set[@]/%/ $part}"); done
    printf '%s\n' "${set[@]}"
    # shellcheck disable=SC2086
    printf '%s\n' $others
}
# restore FIRST SECOND TABLE...: these tables are those of the first dump, the others those of the
# second, which is restored after it.
restore() {
    local first=$1 second=$2 table statements=()
    shift 2
    for table in $all; do statements+=(-c "DELETE FROM rowlock.$table"); done
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" "${statements[@]}"
    : >"$first.list" >"$second.list"
    for table in $all numbers; do
        case " $* " in
        *" $table "*) cat "$first.$table" >>"$first.list" ;;
        *) cat "$second.$table" >>"$second.list" ;;
        esac
    done
    pg_restore --data-only -L "$first.list" -d "$ROWLOCK_TEST_ADMIN" "$first"
    pg_restore --data-only -L "$second.list" -d "$ROWLOCK_TEST_ADMIN" "$second"
}
held() { # the names of leases that last, as the tables say
    sql "SELECT DISTINCT l.name FROM rowlock.lease l LEFT JOIN rowlock.heartbeat b USING (token)
         WHERE coalesce(b.expires, l.expires) > now() ORDER BY 1"
}
# Each name has a least token that is greater than its lease in the other dump.
make_dumps() {
    local name
    for name in a b; do rowlock acquire --ttl 1d "$name"; done >tokens
    put_others 1
    dump old
    rowlock release a --token "$(head -n 1 tokens)"
    rowlock release b --token "$(tail -n 1 tokens)"
    sql "INSERT INTO rowlock.least_token SELECT n, nextval('rowlock.number')
         FROM unnest(ARRAY['a', 'b', 'c']) n
         ON CONFLICT (name) DO UPDATE SET token = excluded.token" >/dev/null # if a search was slow
    newest=$(rowlock acquire --ttl 1d b)
    rowlock acquire --ttl 1d c >/dev/null
    put_others 2
    dump new
}
# Rows of the other tables. No process waits with the ticket.
put_others() {
    rowlock next counter
    rowlock job "job $1" --every 1h -- true
    rowlock refresh "subject $1" --max-age 0 -- true
    rowlock expire "subject $1"
    sql "INSERT INTO rowlock.waiter (ticket, name, mode)
         VALUES (nextval('rowlock.number'), 'a', 'exclusive')" >/dev/null
}

@test "p1 what is held after a part of a dump was restored excludes others, and tokens rise" {
    needs_pg_dump
    make_dumps
    echo "others: $others"
    [ "$(wc -w <<<"$others")" -ge 9 ]
    [ "$(sets | wc -l)" -ge $((32 + $(wc -w <<<"$others"))) ]
    orders=("new old" "old new")
    [ "$ROWLOCK_TEST_EFFORT" = full ] || orders=("new old")
    for order in "${orders[@]}"; do
        while read -r -a set; do
            echo "$order: ${set[*]}"
            # shellcheck disable=SC2086
            restore $order "${set[@]}"
            held >held
            while read -r name; do
                runs 75 rowlock acquire -n --ttl 1m "$name"
            done <held
            [ "$(rowlock acquire -n --ttl 1m another)" -gt "$newest" ]
            for name in a b c; do
                grep -qx "$name" held || rowlock acquire -n --ttl 1m "$name" >/dev/null
            done
            [ -z "$(rowlock --json ls | jq -r '.[] | select(.state == "held").name' | uniq -d)" ]
        done < <(sets)
    done
}
