#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shared library exports exactly the symbols that tests/lib/exports.txt lists, and loads no
# client library before a URL asks for one.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh
library=$ROWLOCK_TEST_BIN/librowlock.so

exported() {
    nm -D --defined-only "$library" | awk '$2 ~ /[A-Z]/ {print $3}' |
        grep -vE '^(__asan_|__ubsan_|__odr_asan)' | sort
}
exports_agree() { diff <(sort tests/lib/exports.txt) <(exported); }
header_agrees() { # every function of the headers is listed, and nothing else
    diff <(sort tests/lib/exports.txt) \
        <(cat include/rowlock.h include/rowlock/*.h | grep -v '^#' | tr '\n' ' ' |
            grep -oE 'ROWLOCK_API [^;(]*\(' | sed 's/.*[ *]\(rowlock_[a-z_]*\)(/\1/' | sort)
}
# Each line has the version of rowlock in which its symbol appeared.
debian_agrees() {
    diff <(sort tests/lib/exports.txt) \
        <(sed -nE 's/^ (rowlock_[a-z_]*)@Base [0-9.]+$/\1/p' debian/librowlock1.symbols | sort)
}
soname_is_versioned() {
    readelf -d "$library" | grep -q 'SONAME.*librowlock\.so\.[0-9]'
}
needs_no_client_library() {
    [ -e "$library" ] && [ -e "$ROWLOCK_TEST_BIN/rowlock" ] &&
        ! readelf -d "$library" "$ROWLOCK_TEST_BIN/rowlock" |
            grep 'NEEDED.*\(libpq\|libmariadb\|sqlite\)'
}
check "the library exports what exports.txt lists" exports_agree
check "exports.txt lists what the headers declare" header_agrees
check "debian/librowlock1.symbols lists what exports.txt lists" debian_agrees
check "the soname carries the version of the ABI" soname_is_versioned
check "no client library is linked" needs_no_client_library
finish_tap
