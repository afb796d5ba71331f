#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
# Quick: never
#
# make torture-publish: docs/internals/torture.md has the sums of docs/internals/torture/*.tsv, and
# a result of a new run replaces the published one of its cell.
cd "$(dirname "$0")/../.." || exit 125
. tests/lib/tap.sh
copy=$ROWLOCK_TEST_TEMP/copy
mkdir -p "$copy/docs/internals" "$copy/tests/torture"
cp -r tests/torture/{publish,tables.bash,mutations} "$copy/tests/torture"
cp -r docs/internals/torture.md docs/internals/torture "$copy/docs/internals"
publish() { BUILD=$copy/build "$copy/tests/torture/publish"; }
result() { # CELL OPERATIONS FORGOTTEN VIOLATIONS: a run of the commit abc
    echo "cell=$1 seed=7 seconds=2 clients=5 commit=abc date=2026-12-01 faults=3 hung=0" \
        "operations=$2 unknown=1 overlaps=0 early=0${3:+ forgotten=$3} lost=0 longest_ms=20000" \
        "idle_ms=9 violations=$4" >"$copy/build/torture/results/${1//\//.}"
}
row() { grep -m 1 -E "^\\| $1 \\| ([0-9]|not)" "$copy/docs/internals/torture.md"; }

is_published() {
    publish && diff -r docs/internals/torture "$copy/docs/internals/torture" &&
        diff docs/internals/torture.md "$copy/docs/internals/torture.md" ||
        { echo "make torture-publish has not run since tables or mutations changed"; return 1; }
}
check the_page_is_that_of_its_data is_published

mkdir -p "$copy/build/torture/"{results,mutations}
before=$(grep -v '^#' "$copy/docs/internals/torture/cells.tsv")
result counter/none/sqlite-native 1234567 '' 0
result java-lease/mixed/postgresql-native 7654321 '' 0
echo 'found by ways/none/postgresql-native in 5 s, seed 2: overlap: one and two' \
    >"$copy/build/torture/mutations/lock_beside_a_lease"
replaces_two() {
    local changed
    publish || return 1
    changed=$(diff <(echo "$before") <(grep -v '^#' "$copy/docs/internals/torture/cells.tsv") |
        grep '^>')
    echo "$changed"
    [[ $changed == "> counter	none	sqlite-native	1234567	1	3	0	0	-	0	20000	9	0	2	5	7	$(
        )2026-12-01	abc"$'\n'"> java-lease	mixed	postgresql-native	7654321	"*abc ]]
}
check new_results_replace_those_of_their_cells_alone replaces_two
sums_up() {
    row sqlite-native
    row counter
    row 'java-\.\.\.'
    [[ $(row sqlite-native) == *' 1,'*' | 0 | 20,000 |' ]] &&
        [[ $(row counter) == *' 1,'*' | 0 | 20,000 |' ]] && [[ $(row 'java-\.\.\.') == *' 7,'* ]]
}
check the_tables_have_the_new_operations_and_waits_and_one_row_for_a_package sums_up
has_mistake() {
    grep "lock_beside_a_lease	.*	ways/none/postgresql-native	5	2	overlap: one and two\$" \
        "$copy/docs/internals/torture/mistakes.tsv"
}
check a_mistake_that_was_found_is_published has_mistake

result counter/kill/sqlite-native 5 0 1
refuses() {
    local page answer
    page=$(cat "$copy/docs/internals/torture.md")
    ! answer=$(publish 2>&1) && echo "$answer" &&
        [ "$page" = "$(cat "$copy/docs/internals/torture.md")" ] &&
        [[ $answer == *counter.kill.sqlite-native*"have violations"* ]]
}
check a_cell_with_a_violation_is_not_published refuses
rm "$copy/build/torture/results/counter.kill.sqlite-native"

starts_empty() {
    rm "$copy"/docs/internals/torture/*.tsv
    publish && [[ $(row counter) == '| counter | 1 | 1,234,567 | 3 | 0 | 20,000 |' ]] &&
        [[ $(row documents) == '| documents | not run |'* ]]
}
check without_published_data_only_the_new_results_count starts_empty
lacks_results() {
    local answer
    rm -r "$copy/docs/internals/torture" "$copy/build"
    ! answer=$(publish 2>&1) && [[ $answer == *"no cell has run"* ]]
}
check nothing_to_publish_is_an_error lacks_results
finish_tap
