#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Tables of an older dump are restored beside tables of today: what the tables say is held excludes
# others, and tokens rise.
# Runs on: postgresql/native
# Quick: never

load lib

# Those that decide who holds a name, each by itself. The sequences are mixed as one, and in the
# full scope so are the other tables. Each other table is also restored alone.
tables='lease origin' numbers='lifted lifted_for number'
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
    sql "SELECT DISTINCT name FROM rowlock.lease WHERE token > 0 AND expires > now() ORDER BY 1"
}
# As if the searches for the rows of these names had been slow.
move_names() { # NAME...
    local name
    for name; do
        sql "INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired)
             VALUES ('$name', -99999, -100000, 'moved', '-infinity', clock_timestamp())"
    done
}
# Each name has another generation in the other dump.
make_dumps() {
    local name
    for name in a b; do rowlock acquire --ttl 1d "$name"; done >tokens
    put_others 1
    dump old
    rowlock release a --token "$(head -n 1 tokens)"
    rowlock release b --token "$(tail -n 1 tokens)"
    move_names a b c
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
    [ "$(wc -w <<<"$others")" -ge 8 ]
    [ "$(sets | wc -l)" -ge $((8 + $(wc -w <<<"$others"))) ]
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

@test "p1 a lease that is restored, or inserted by hand, is seen although its name has moved" {
    needs_pg_dump
    rowlock acquire --ttl 1d exclusively >tokens
    rowlock acquire --ttl 1d -s together >>tokens
    pg_dump --data-only --table rowlock.lease "$ROWLOCK_TEST_ADMIN" >dump
    rowlock break --now exclusively
    rowlock break --now together
    sql "DELETE FROM rowlock.lease"
    move_names exclusively together byhand
    psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_ADMIN" -f dump >/dev/null
    sql "INSERT INTO rowlock.lease (token, name, expires) VALUES (1, 'byhand', 'infinity')"
    for name in exclusively together byhand; do
        runs 75 rowlock acquire -n --ttl 1m "$name"
        runs 75 rowlock run --tx -n "$name" -- true
    done
    rowlock run -n -s together -- true
    rowlock check exclusively --token "$(head -n 1 tokens)"
    # a lease that is there now is not hidden by a mark of a dump
    rowlock acquire --ttl 1d now >/dev/null
    sql "INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired)
         VALUES ('now', -99999, -100000, 'moved', '-infinity', now() - interval '1 h')"
    runs 75 rowlock acquire -n --ttl 1m now
    # nor can one be put beside it
    run sql "INSERT INTO rowlock.lease (token, name, expires) VALUES (2, 'now', 'infinity')"
    [ "$status" -ne 0 ]
    # nor where an old snapshot decides
    run sql "BEGIN ISOLATION LEVEL REPEATABLE READ;
             INSERT INTO rowlock.lease (token, name, expires) VALUES (2, 'old', 'infinity')"
    [ "$status" -ne 0 ]
    [[ $output == *'cannot insert a lease of "old" in a transaction at REPEATABLE READ'* ]]
    [[ $output == *"HINT"*"READ COMMITTED"* ]]
}

without_triggers() { # STATEMENT...
    sql "ALTER TABLE rowlock.lease DISABLE TRIGGER ALL; $*
         ALTER TABLE rowlock.lease ENABLE TRIGGER ALL"
}
excludes() { # NAME...
    local name
    for name; do
        runs 75 rowlock acquire -n --ttl 1m "$name"
        runs 75 rowlock run --tx -n "$name" -- true
    done
    [ -z "$(sql "SELECT name FROM rowlock.lease WHERE token > 0 AND mode = 'exclusive'
                 GROUP BY name HAVING count(*) > 1")" ]
}

@test "p1 a lease that a restore without triggers has hidden excludes others after a vacuum" {
    needs_pg_dump
    sql "DELETE FROM rowlock.lease"
    exclusively=$(rowlock acquire --ttl 1d exclusively)
    rowlock acquire --ttl 1d -s together >/dev/null
    rowlock acquire --ttl 1d --limit 1 permits >/dev/null
    two=$(rowlock acquire --ttl 1d one two)
    taken=$(rowlock acquire --ttl 1d taken)
    dump dump
    for how in "-t lease" ""; do
        sql "DELETE FROM rowlock.lease"
        move_names exclusively together permits two taken
        present=$(rowlock acquire --ttl 1d taken)
        if [ -z "$how" ]; then
            # shellcheck disable=SC2046
            sql "$(printf 'DELETE FROM rowlock.%s;' $(grep -vx lease <<<"$all"))"
        fi
        # shellcheck disable=SC2086
        pg_restore --data-only --disable-triggers $how -d "$ROWLOCK_TEST_ADMIN" dump
        rowlock vacuum
        excludes exclusively together permits one two taken
        rowlock run -n -s together -- true
        rowlock check exclusively --token "$exclusively"
        rowlock check one --token "$two"
        rowlock check two --token "$two"
        rowlock check taken --token "$present"
        run rowlock check taken --token "$taken"
        [ "$status" -ne 0 ]
    done
    rowlock schema install
    sql "DELETE FROM rowlock.lease"
    # single rows: a mark that hides a lease of today; a lease without the mark of its generation;
    # a token that is not drawn yet
    now=$(rowlock acquire --ttl 1d now)
    without_triggers "INSERT INTO rowlock.lease (name, n, token, mode, expires) VALUES
        ('now', -99999, -100000, 'moved', '-infinity');
        INSERT INTO rowlock.lease (name, n, token, expires) VALUES
        ('below', -300, 1, 'infinity'), ('high', 0, 1000000 + $now, 'infinity');"
    rowlock vacuum
    excludes now below high
    rowlock check now --token "$now"
    [ "$(sql "SELECT token FROM rowlock.lease WHERE name = 'below' AND n = -299")" = -300 ]
    [ "$(rowlock acquire --ttl 1d next)" -gt $((1000000 + now)) ]
}
