# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of jobs: a job, nodes that die or freeze, and the recorded runs.

job() { "$ROWLOCK" --db "$ROWLOCK_TEST_URL" job "$@"; }
start_job() { start_rowlock job "$@"; }
# A long period: the next due time does not come during a test.
rarely=(--every 50w)

view() { # NAME PATH: a field of the job in `jobs --json`
    rowlock --json jobs "$1" | json "\$[0].$2"
}
run_is() { # NAME N FIELD=VALUE...: checks run N of the history, in one answer; 0 is the latest
    local name=$1 n=$2
    shift 2
    rowlock --json jobs "$name" |
        jq -r --argjson n "$n" '.[0].history[$n] as $run |
            $ARGS.positional[] | "\(.)=\($run[.] // "")"' --args "${@%%=*}" >fields
    diff <(printf '%s\n' "$@") fields
}
runs_of() { rowlock --json jobs "$1" | json_sql "json_array_length(document, '\$[0].history')"; }
is_running_somewhere() { [ -n "$(view "$1" running_at)" ]; }
runs_nowhere() { ! is_running_somewhere "$1"; }

# start_node NAME [OPTION...]: starts a job whose command keeps running; $node is the pid of
# rowlock.
start_node() {
    rm -f command
    start_job "$1" "${rarely[@]}" "${@:2}" -- bash -c "$on_term
        $(pid_into command); while :; do sleep 970 & wait; done"
    node=$started
    until_true is_there command
}
all_of_node() { # SIGNAL: to the whole node: rowlock, guard, command and its descendants
    local guard
    guard=$(guard_of "$node")
    # shellcheck disable=SC2046
    kill -s "$1" "$node" "$guard" $(pgrep -P "$(cat command)") "$(cat command)"
}
# is_due_in NAME MS: sets the due time relative to the database's clock; the row's schedule stays
# the same
is_due_in() {
    local now
    case $ROWLOCK_TEST_ENGINE in
    sqlite) now="CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)" ;;
    postgresql) now="floor(extract(epoch FROM clock_timestamp())::numeric * 1000)::bigint" ;;
    mariadb) now="TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6)) DIV 1000" ;;
    esac
    sql "UPDATE ${ours}job SET due = $now + $2 WHERE name = '$1'"
}
forget_jobs() { # of earlier tests, in a setup
    cd "$BATS_TEST_TMPDIR" || return 1
    sql "DELETE FROM ${ours}job"
    sql "DELETE FROM ${ours}run"
}
due_of() { sql "SELECT due FROM ${ours}job WHERE name = '$1'"; }
as_utc() { date -u -d "@${1%???}" "+%Y-%m-%dT%H:%M:%S.${1: -3}Z"; } # MS since 1970
