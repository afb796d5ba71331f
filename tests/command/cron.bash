# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of cron: the daemon of the file tab, whose jobs no earlier test has known.

setup() { forget_jobs; }
# A process that a daemon started outlives the daemon.
teardown() {
    end_started
    local file
    for file in *.pid; do [ ! -e "$file" ] || end_here "$(cat "$file")"; done
}
start_cron() { # [OPTION...]: its pid is in $daemon
    start_rowlock cron tab "$@"
    daemon=$started
}
cron_of() { # [OPTION...]: writes the file tab first, from standard input
    cat >tab
    start_cron "$@"
}
stop_cron() {
    kill -s TERM "$daemon"
    ends_with 0 "$daemon"
}
said() { grep -q "$1" err; }
has_run() { [ "$(grep -cx "$1" ran 2>/dev/null)" -ge "$2" ]; } # NAME TIMES
