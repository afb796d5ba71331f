# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# One cell of tests/torture/run: its database, its clients and faults, the judge.

# CELL: sets workload, fault, engine, technique, url (of the clients) and the tests' environment
open_cell() {
    local direct
    IFS=/ read -r workload fault engine <<<"$1"
    technique=${engine#*-} engine=${engine%%-*}
    rm -rf "$cell_folder/data"
    mkdir "$cell_folder/data"
    is_started "$engine" || start_engine "$engine" || return 1
    "open_$engine" "torture_$((cells += 1))" || return 1
    direct=$url
    case $fault in cut | stall | mixed) [ "$engine" = sqlite ] || start_cutter "$engine" ;; esac
    export ROWLOCK_TEST_ENGINE=$engine ROWLOCK_TEST_TECHNIQUE=$technique
    ROWLOCK_TEST_URL=$(url_of "$direct")
    export ROWLOCK_TEST_URL
    prepared_url=$ROWLOCK_TEST_URL
    "$worker" prepare "$workload" 0 "$SEED" "$cell_folder/data" \
        2>>"$cell_folder/data/errors" || { tail -n 3 "$cell_folder/data/errors" >&2; return 1; }
    ROWLOCK_TEST_URL=$(url_of "$url")
}
cells=0
url_of() { # URL: through the cell's transport
    case $technique in
    odbc | jdbc) transport_url "$engine" "$technique" "$1" ;;
    *) echo "$1" ;;
    esac
}

completed() { # operations so far
    cat "$cell_folder"/data/client.* | grep -cE ' ok (add|hold|read) '
}
# Injects faults until the time has passed and there are enough operations.
torment() {
    local begun=$SECONDS least most
    read -r least most <<<"$(pause_of "$fault")"
    while [ $((SECONDS - begun)) -lt "$SECONDS_EACH" ] ||
        { [ "$OPERATIONS" -gt 0 ] && [ "$(completed)" -lt "$OPERATIONS" ]; }; do
        draw "$most"
        drawn=$((drawn + least))
        nap "$((drawn / 1000)).$(printf %03d $((drawn % 1000)))"
        faults=$((faults + 1))
        "inject_$fault"
        wake_clients
    done
}
# Afterwards: is every name free, and does the judge accept the history? Sets verdict.
judge_cell() {
    local code=0
    ROWLOCK_TEST_URL=$prepared_url "$worker" settle "$workload" 0 "$SEED" "$cell_folder/data" \
        2>>"$cell_folder/data/errors" || return 1
    rows_of "$engine" >"$cell_folder/data/final" || return 1
    touch "$cell_folder/data/stops"
    "$BUILD/tests/torture/judge" "$cell_folder"/data/{client.*,stops,final} \
        >"$cell_folder/data/verdict" || code=$?
    [ $code -lt 2 ] || return 1
    verdict=$(tail -n 1 "$cell_folder/data/verdict")
    [ $code = 0 ] || keep_failure
}
keep_failure() {
    head -n -1 "$cell_folder/data/verdict" | sed "s|^|$workload/$fault/$engine-$technique: |" >&2
    rm -rf "$failed/$workload.$fault.$engine-$technique"
    cp -r "$cell_folder/data" "$failed/$workload.$fault.$engine-$technique"
}

run_cell() { # CELL: sets result
    local place code=0
    RANDOM=$((SEED % 32768)) faults=0 next_client=1
    open_cell "$1" || { stop_cutter; return 1; }
    for ((place = 0; place < CLIENTS; place++)); do start_client $place; done
    torment
    end_clients TERM
    stop_cutter
    judge_cell || code=1
    drop_database "$engine"
    [ $code = 0 ] || return 1
    [ "$hung" = 0 ] || echo "$1: $hung clients did not end within a minute" >&2
    result="cell=$1 seed=$SEED seconds=$SECONDS_EACH clients=$CLIENTS commit=$commit $(
        )date=$(date -u +%Y-%m-%d) faults=$faults hung=$hung $verdict"
    [ "$hung" = 0 ] || result=${result% violations=*}\ violations=$((${result##*=} + hung))
}
