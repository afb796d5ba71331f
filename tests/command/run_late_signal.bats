#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A signal that comes when there is no command to receive it: before it starts, while connecting
# fails, and after it, while the lock is released. It is meant for rowlock, and a loop of the shell
# must stop.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: sqlite/native postgresql/native
# Rest: sqlite postgresql

load lib

# "exit N" or "signal N" of a command that starts with a pending signal.
pending='use POSIX; my $n = shift; sigprocmask(SIG_BLOCK, POSIX::SigSet->new($n));
    if (my $p = fork) { waitpid $p, 0 } else { kill $n => $$; exec { $ARGV[0] } @ARGV }
    print $? & 127 ? "signal " . ($? & 127) : "exit " . ($? >> 8), "\n"'

@test "p6: a signal during a failing attempt to connect ends rowlock by that signal" {
    [ "$ROWLOCK_TEST_ENGINE" = sqlite ] && dead=sqlite:$PWD/no/folder/x.db ||
        dead=$ROWLOCK_TEST_ENGINE://somebody@127.0.0.1:1/x
    for verb in "run a -- touch ran" "acquire --ttl 1m a" "hold --for 1m --note x a"; do
        for number in 2 15; do
            # shellcheck disable=SC2086
            run env --default-signal=INT perl -e "$pending" $number "$ROWLOCK" --db "$dead" $verb
            echo "$verb: $output"
            [ "${lines[-1]}" = "signal $number" ]
        done
    done
    [ ! -e ran ]
}

# The report goes to a full pipe, so that rowlock stops between the release and its own end.
full_pipe='use Fcntl; open my $p, "+<", "report" or die;
    fcntl $p, F_SETFL, O_NONBLOCK | fcntl($p, F_GETFL, 0);
    1 while syswrite $p, "x" x 4096; 1 while syswrite $p, "x"'
# PID: the command has run, the lock is released, and rowlock sleeps in a write to a pipe
stands_at_its_report() {
    [ -e ran ] && is_free late || return 1
    grep -q pipe "/proc/$1/wchan" || [[ $(cut -d' ' -f1 "/proc/$1/syscall") = 1 ]]
}
at_its_report() { # COMMAND...: has ended, and the lock is released; $started is the pid of rowlock
    rm -f report ran
    mkfifo report
    exec 6<>report
    perl -e "$full_pipe"
    start_rowlock run --report report late -- "$@" 6>&-
    until_true stands_at_its_report "$started"
}
read_report() { # and rowlock continues
    perl -e 'open my $p, "<", "report" or die; while (<$p>) { last if s/^x*(?=\{)// } print' >read
    exec 6>&-
}

@test "^C after the release ends rowlock by that signal, and not as if it had never come" {
    for signal in INT:130 TERM:143 HUP:129; do
        at_its_report touch ran
        kill -s "${signal%:*}" "$started"
        read_report
        ends_with "${signal#*:}" "$started"
        [ "$(json '$.acquired' <read)" = 1 ]
    done
}

@test "a signal meant for the command alone does not count as such" {
    at_its_report sh -c 'touch ran; exit 3'
    kill -s USR1 "$started"
    read_report
    ends_with 3 "$started"
}
