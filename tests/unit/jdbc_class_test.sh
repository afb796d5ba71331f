#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bytes of the JDBC driver's helper class, which are checked in, are those of its source.
# Another release of javac orders the constants of a class in another way, so javap's listings are
# compared, without the numbers of the constants.
# Quick: never
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh
folder=${ROWLOCK_TEST_TEMP:?run it by tests/run}
source=src/driver/jdbc/RowlockSession.java

write_class() { # C-FILE FOLDER: writes the class of its array
    mkdir -p "$2"
    perl -0777 -ne '/\[\] = \{(.*?)\}/s and print pack("C*", $1 =~ /\d+/g)' "$1" \
        >"$2/RowlockSession.class"
}
listing() { # FOLDER
    javap -c -p "$1/RowlockSession.class" | sed -E 's/#[0-9]+(, *[0-9]+)?//; s/ +/ /g'
}
matches_its_source() {
    tools/embed-class $source >"$folder/class.c" && write_class "$folder/class.c" "$folder/new" &&
        listing "$folder/checked-in" >"$folder/before" && listing "$folder/new" >"$folder/now" &&
        [ "$(wc -l <"$folder/now")" -gt 100 ] && diff "$folder/before" "$folder/now"
}
runs_on_java_8() { # the version of its format
    [ "$(od -An -tu1 -j6 -N2 "$folder/checked-in/RowlockSession.class")" = "   0  52" ]
}

write_class src/driver/jdbc/class.c "$folder/checked-in"
check the_helper_class_matches_its_source matches_its_source
check the_helper_class_runs_on_java_8 runs_on_java_8
finish_tap
