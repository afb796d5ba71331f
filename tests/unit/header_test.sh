#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone as C11 and as C++ without a warning, in any order and twice.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh

compile() { # LANGUAGE COMPILER STANDARD TEXT
    printf '%s\n' "$4" 'int main(void) { return rowlock_version() == 0; }' |
        $2 -x "$1" -std="$3" -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only -
}
in_both() { # NAME TEXT
    check "$1 is C11" compile c "${CC:-cc}" c11 "$2"
    check "$1 is C++" compile c++ "${CXX:-c++}" c++11 "$2"
}
for header in rowlock.h rowlock/postgresql.h rowlock/mariadb.h rowlock/sqlite.h \
    rowlock/odbc.h; do
    in_both "$header" "#include <$header>"
done
in_both "all headers together, twice," "$(printf '#include <rowlock/%s>\n' \
    sqlite.h mariadb.h postgresql.h sqlite.h postgresql.h mariadb.h)"
finish_tap
