#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The C API, the options, exit statuses and variables of the command, and the names of the metrics
# are those that tests/surface records. (JSON: json_fields.bats. SQL: tests/sql/documented.bats.
# Symbols: unit/exports_test.sh. The packages: tests/clients/surface.bats.)
# Runs on: sqlite/native

load lib
load ../surface/lib

TOP=$BATS_TEST_DIRNAME/../..

@test "the C API: prototypes, members of structures, constants" {
    cd "$TOP/include"
    for header in rowlock.h rowlock/*.h; do
        echo "== $header"
        # comments and line ends are no part of it
        perl -0777 -pe 's{/\*.*?\*/}{}gs; s/\\\n\s*/ /g; s/^#include.*\n//gm; s/[ \t]+/ /g;
            s/\([^(){};]*\)/$& =~ s{\s+}{ }gr/ge; s/^ *\n//gm; s/ +$//gm' "$header"
    done >"$BATS_TEST_TMPDIR/c"
    cd "$BATS_TEST_TMPDIR"
    same_as_recorded c <c
}

# The page rowlock(1) lists them under .TP, with \fB or .B and so on before each.
listed() { # HEADING
    sed -n "/^\.SH $1\$/,/^\.SH /p" "$TOP/man/rowlock.1" |
        awk '/^\.TP/ { next_line = 1; next } next_line { print; next_line = 0 }' |
        sed 's/^\.[BRI]* //; s/ ", " /, /g; s/\\-/-/g; s/"//g'
}
@test "the command: verbs, options, exit statuses, variables" {
    {
        for part in 'OPTIONS' 'EXIT STATUS' 'ENVIRONMENT'; do
            echo "== $part"
            listed "$part"
        done
        "$ROWLOCK" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' >verbs
        while read -r verb; do
            echo "== $verb"
            "$ROWLOCK" help "$verb" >help
            # the synopsis, and the column of the options, which may be a line of its own
            sed -n '1,/^$/s/^\(usage:\|      \) *//p' help
            sed -nE 's/^ {2,6}(-[^ ,]+(, -[^ ,]+)*( \[?[A-Z|a-z=]+[^ ]*)?)(  .*)?$/\1/p' help
        done <verbs
    } >command
    [ "$(grep -c '^== ' command)" -gt 25 ]
    same_as_recorded command <command
}

@test "the metrics: name, type, labels" {
    rowlock acquire --ttl 1h one
    rowlock acquire --ttl 1h --limit 2 two
    start_rowlock acquire --ttl 1h -w 1h one
    until_true is_waited_for one
    rowlock job nightly --every 1h -- true
    rowlock refresh prices --max-age 1h -- true
    rowlock metrics --name '*' >metrics
    rowlock break --now one
    ends_with 0 "$started"
    awk '/^# TYPE/ { type[$3] = $4; next } /^#/ { next }
        { name = $1; sub(/\{.*/, "", name); labels = $0
          if (!sub(/^[^{]*\{/, "", labels)) labels = ""; sub(/\}[^}]*$/, "", labels)
          gsub(/="[^"]*"/, "", labels); print name, type[name], labels }' metrics | sed 's, $,,' |
        sort -u | same_as_recorded metrics
}
