# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of doctor.

# finds STATUS CHECK PATTERN [OPTION...]: makes the check alone; compares its line, and the exit
# status with it
finds() {
    local status_of_line
    case $1 in ok) status_of_line=0 ;; warn) status_of_line=1 ;; FAIL) status_of_line=2 ;; esac
    runs "$status_of_line" rowlock "${@:4}" doctor --only "$2"
    [ "${#lines[@]}" = 1 ]
    [[ $output =~ ^$1\ +$2\ \  ]]
    # shellcheck disable=SC2053
    [[ $output == $3 ]]
}
advice() { # CHECK [OPTION...]
    rowlock "${@:2}" --json doctor --only "$1" | json '$[0].advice'
}
