#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bytes of the JDBC driver's helper class, which are checked in, are those of its source.
# Another release of javac orders the constants of a class in another way, so javap's listings are
# compared, without the numbers of the constants.
# Quick: never
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh
folder=${ROWLOCK_TEST_TEMP:?run it by tests/run}
source=src/driver/jdbc/RowlockSession

listing() { # FILE.class
    javap -c -p "$1" | sed -E 's/#[0-9]+(, *[0-9]+)?//; s/ +/ /g'
}
is_one_class() {
    javac --release 8 -g:none -Xlint:-options -encoding UTF-8 -d "$folder" $source.java &&
        [ "$(cd "$folder" && echo *)" = RowlockSession.class ]
}
matches_its_source() {
    listing $source.class >"$folder/before" &&
        listing "$folder/RowlockSession.class" >"$folder/now" &&
        [ "$(wc -l <"$folder/now")" -gt 100 ] && diff "$folder/before" "$folder/now"
}
runs_on_java_8() { # the version of its format
    [ "$(od -An -tu1 -j6 -N2 $source.class)" = "   0  52" ]
}

check the_helper_is_one_class is_one_class
check the_helper_class_matches_its_source matches_its_source
check the_helper_class_runs_on_java_8 runs_on_java_8
finish_tap
