# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of `run` with leases: commands that record their processes, and the end of their
# rowlock.

leased() { "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run "$@"; }
start_leased() { start_rowlock run "$@"; }

# A shell line that writes its process into FILE, in one step.
pid_into() { echo "echo \$\$ >$1.tmp; mv $1.tmp $1"; }
# start_tree [OPTION...] NAME: starts a command with a grandchild, and a daemon that forked twice
# and has a session of its own. Their processes are in the files command, grandchild and daemon.
# $on_term is its action on TERM.
on_term=
start_tree() {
    rm -f command grandchild daemon
    start_leased "$@" -- bash -c "$on_term
        (setsid sh -c '$(pid_into daemon); exec sleep 970' &)
        sh -c '$(pid_into grandchild); exec sleep 970' &
        $(pid_into command); while :; do wait; done"
    holder=$started
    for file in daemon grandchild command; do until_done_by "$holder" is_there $file; done
}
tree_is_gone() {
    for file in daemon grandchild command; do is_gone "$(cat $file)" || return 1; done
}
is_there_again() { ! is_gone "$1"; }
state_of() { sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null; }
is_stopped() { [ "$(state_of "$1")" = T ]; }
expires_later_than() { [[ $(item a '$[0].expires') > $1 ]]; } # INSTANT: the lease of a

# ends_soon STATUS PID URL: checks that a rowlock of start_tree, whose command is dead or dying,
# does not wait for the unresponsive database at URL. The measure of time is another rowlock,
# started after the command's death: it waits there until it gives up connecting. Giving up a
# statement takes longer.
ends_soon() {
    local measure
    until_true tree_is_gone
    start "$ROWLOCK" --db "$3" ls
    measure=$started
    until is_gone "$2"; do
        if is_gone "$measure"; then
            echo "its command is dead, and it does not end"
            return 1
        fi
        sleep 0.02
    done
    ends_with "$1" "$2"
}
# start_stoppable [OPTION...] NAME: a command that exits with 4 when the file stop exists. Its
# process is in the file command; $holder is the pid of rowlock.
start_stoppable() {
    rm -f command stop
    start_leased "$@" -- sh -c "$(pid_into command); until [ -e stop ]; do sleep 0.02; done; exit 4"
    holder=$started
    until_done_by "$holder" is_there command
}
parent_of() { ps -o ppid= -p "$1" | tr -d " "; }
guard_of() { pgrep -P "$1"; } # PID of a rowlock that runs a command

# start_next NAME [FILE...]: waits for the lock. When it has the lock, no process of a FILE may be
# alive: next_has_passed checks that.
start_next() {
    local name=$1
    shift
    start env -u ROWLOCK_HELD "$ROWLOCK" --db "$ROWLOCK_TEST_URL" run -w 60 "$name" -- sh -c '
        for file; do
            grep -q "^State:[[:space:]]*[^ZX[:space:]]" "/proc/$(cat "$file")/status" 2>/dev/null &&
                touch overlap
        done
        touch passed' sh "$@"
    next=$started
    until_done_by "$next" is_waited_for "$name"
}
next_has_passed() {
    until_done_by "$next" is_there passed
    wait "$next"
    [ ! -e overlap ]
}
