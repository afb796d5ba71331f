# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of a command under a terminal: a pty of script(1).

# at_terminal LINE: a line for $SHELL; the screen goes to the file screen, and input comes from
# descriptor 5. Replaces the terminal before it.
at_terminal() {
    exec 5>&-
    rm -f keys screen
    mkfifo keys
    start sh -c 'exec script -qefc "$0" screen <keys >/dev/null' "$1"
    terminal=$started
    exec 5>keys
}
teardown() {
    exec 5>&-
    end_started
}
type_in() { printf '%b' "$1" >&5; }
