#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# clients.pl HOST:PORT drip N: N clients, each of which sends a byte of its request's head every
# second; ends when the server has closed all connections.
# clients.pl HOST:PORT hold N TARGET: N clients that read the first 1000 bytes of the answer, and
# wait; a % in TARGET is the number of the client. Without a TARGET they send nothing; prints how
# many of them the server closed in 5 s.
# clients.pl HOST:PORT sip TARGET: a client that reads 150 kB of the answer a second; prints "whole"
# or "cut" at its end.
# Each makes the file "ready" when its clients are connected, and have the 1000 bytes.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Socket qw(SO_RCVBUF SOL_SOCKET);

my ($address, $action, $n, $target) = @ARGV;
($n, $target) = (1, $n) if $action eq 'sip';
$SIG{PIPE} = 'IGNORE';

sub ready { open my $file, '>', 'ready' or die "ready: $!\n"; close $file }

sub client {
    my ($number) = @_;
    my ($host, $port) = split /:/, $address;
    my $socket = IO::Socket::INET->new(Proto => 'tcp') or die "socket: $!\n";
    setsockopt $socket, SOL_SOCKET, SO_RCVBUF, 8192;
    connect $socket, pack_sockaddr_in($port, inet_aton($host)) or die "connect: $!\n";
    $socket->autoflush(1);
    (my $path = $target // '') =~ s/%/$number/;
    print $socket "GET $path HTTP/1.1\r\nHost: localhost\r\n\r\n" if defined $target;
    return $socket;
}

my @clients = map { client($_) } 1 .. $n;

sub drip {
    ready();
    while (@clients) {
        for my $socket (@clients) { print $socket 'X' }
        my %closed = map { $_ => 1 } IO::Select->new(@clients)->can_read(1);
        @clients = grep { !$closed{$_} } @clients;
        sleep 1 if %closed;
    }
}

sub hold {
    for my $socket (@clients) {
        for (my $n = 0; defined $target && $n < 1000;) {
            my $more = sysread $socket, my $text, 1000 - $n;
            $more or die "the answer ended after $n bytes\n";
            $n += $more;
        }
    }
    ready();
    my @closed = defined $target ? sleep : IO::Select->new(@clients)->can_read(5);
    print scalar @closed, "\n";
}

sub sip {
    ready();
    my ($got, $size) = (0, 0);
    my $start = '';
    while (my $more = sysread $clients[0], my $text, 7_500) {
        $start .= $text if !$size;
        $size = $1 + $-[0] if !$size && $start =~ /^Content-Length: (\d+)/m;
        $got += $more;
        select undef, undef, undef, 0.05;
    }
    print $size && $got >= $size ? "whole\n" : "cut\n";
}

{ no strict 'refs'; &$action() }
