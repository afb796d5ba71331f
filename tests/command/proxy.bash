# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A proxy to the server under test that is one process: while it is stopped, it swallows everything.
# It forwards N answers, counted over all connections, and no more. While the file hold exists, it
# keeps back what the server says; it writes the file passed when it hands some of it over. If the
# file one-session exists, it closes each later one, and writes the file refused.

proxy='use IO::Socket::INET; use IO::Select; my ($to, $left, $port) = @ARGV;
    my $listen = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1") or die;
    my ($select, %peer, %is_server) = IO::Select->new($listen); $SIG{PIPE} = "IGNORE";
    open my $p, ">", "$port.tmp"; print $p $listen->sockport; close $p; rename "$port.tmp", $port;
    for (;;) {
        for my $from ($select->can_read) {
            if ($from == $listen) {
                my $in = $listen->accept;
                if (%peer && -e "one-session") {
                    close $in; open my $refused, ">", "refused"; print $refused "refused\n"; next }
                my $out = IO::Socket::INET->new($to) or die;
                ($peer{$in}, $peer{$out}, $is_server{$out}) = ($out, $in, 1);
                $select->add($in, $out); next;
            }
            if ($is_server{$from} && -e "hold") { select undef, undef, undef, 0.02; next }
            my $got = sysread $from, my $data, 65536;
            if ($got) {
                syswrite $peer{$from}, $data if !$is_server{$from} || $left-- > 0;
                if ($is_server{$from}) { open my $passed, ">", "passed" }
                next;
            }
            $select->remove($from, $peer{$from}); shutdown $peer{$from}, 2; shutdown $from, 2;
        }
    }'
start_proxy() { # [N [FILE]]: sets proxy_url and proxy_pid; its port is in the file
    local rest=${ROWLOCK_TEST_URL##*@} scheme=${ROWLOCK_TEST_URL%@*} file=${2:-port}
    start perl -e "$proxy" "${rest%%/*}" "${1:-1000000}" "$file"
    proxy_pid=$started
    until_true is_there "$file"
    proxy_url="$scheme@127.0.0.1:$(cat "$file")/${rest#*/}"
}
