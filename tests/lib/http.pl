#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# http.pl ADDRESS METHOD TARGET [HEADER...]: sends one request, writes the answer to the files head
# and body, and prints the status. ADDRESS is HOST:PORT or unix:PATH. A HEADER "Host: x" replaces
# the usual one; one that begins with "body " is the body of the request.
# http.pl ADDRESS requests: reads lines `STATUS METHOD TARGET[ HEADER]`, sends these requests, and
# prints which answer has another status; then it fails. The files have all answers, with an empty
# line between them.
# http.pl ADDRESS viewers N TIMES TARGET...: N viewers at the same time; each asks TIMES times, for
# the TARGETs in turn. Prints how many seconds that took, and how many answers were not 200.
use strict;
use warnings;
use IO::Socket::IP;
use IO::Socket::UNIX;
use Time::HiRes qw(time);

my ($address, $method, @rest) = @ARGV;
$SIG{PIPE} = 'IGNORE';

sub ask {
    my ($method, $target, @headers) = @_;
    my $socket = $address =~ /^unix:(.*)/s
        ? IO::Socket::UNIX->new(Peer => $1)
        : IO::Socket::IP->new(PeerAddr => $address);
    die "cannot connect to $address: $!\n" unless $socket;
    my $content = join '', map { /^body (.*)/s ? $1 : () } @headers;
    @headers = grep { !/^body / } @headers;
    push @headers, 'Content-Length: ' . length $content if length $content;
    unshift @headers, 'Host: localhost' unless grep { /^Host:/ } @headers;
    print $socket join("\r\n", "$method $target HTTP/1.1", 'Connection: close', @headers, '',
        $content);
    local $/;
    my $answer = <$socket> // '';
    my ($head, $body) = split /\r\n\r\n/, $answer, 2;
    my ($status) = ($head // '') =~ m{^HTTP/1\.1 (\d+)};
    return ($status // 'none', $head // '', $body // '');
}

sub write_file {
    my ($name, $text) = @_;
    open my $file, '>:raw', $name or die "$name: $!\n";
    print $file $text;
    close $file or die "$name: $!\n";
}

if ($method eq 'requests') {
    my (@heads, @bodies, $wrong);
    while (my $line = <STDIN>) {
        my ($wanted, @request) = $line =~ /^(\d+) (\S+) (\S+)(?: (.*))?$/ or die "what is $line";
        my ($status, $head, $body) = ask(grep { defined } @request);
        push @heads, $head;
        push @bodies, $body;
        next if $status eq $wanted;
        print "$request[1]: $status, not $wanted\n";
        $wrong = 1;
    }
    write_file(head => join "\n\n", @heads);
    write_file(body => join "\n\n", @bodies);
    exit($wrong || !@heads ? 1 : 0);
}
if ($method ne 'viewers') {
    my ($status, $head, $body) = ask($method, @rest);
    write_file(head => $head);
    write_file(body => $body);
    print "$status\n";
    exit;
}
my ($n, $times, @targets) = @rest;
my $began = time;
my @viewers;
for my $viewer (1 .. $n) {
    my $pid = fork // die "fork: $!\n";
    if ($pid) {
        push @viewers, $pid;
        next;
    }
    my $bad = 0;
    for my $i (1 .. $times) {
        my ($status) = ask('GET', $targets[($i + $viewer) % @targets]);
        $bad++ if $status ne '200';
    }
    exit($bad > 255 ? 255 : $bad);
}
my $bad = 0;
for my $pid (@viewers) {
    waitpid $pid, 0;
    $bad += $? >> 8;
}
printf "%d %d\n", time - $began + 1, $bad;
