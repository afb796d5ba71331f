# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# TAP for shell scripts: `check NAME COMMAND...` is one test, `finish_tap` ends the script. The
# output of a command is shown if it fails.
tap_n=0
tap_bad=0
check() {
    local name=$1 output
    shift
    tap_n=$((tap_n + 1))
    if output=$("$@" 2>&1); then
        echo "ok $tap_n - $name"
    else
        tap_bad=$((tap_bad + 1))
        echo "not ok $tap_n - $name"
        echo "${output//$'\n'/$'\n'# }" | sed '1s/^/# /'
    fi
}
finish_tap() {
    echo "1..$tap_n"
    [ $tap_bad = 0 ]
    exit
}
