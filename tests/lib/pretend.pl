# SPDX-License-Identifier: Apache-2.0
# pretend.pl PORT FILE FROM TO: a proxy in front of the server at PORT of 127.0.0.1, which writes its
# own port into FILE. In the server's answers it replaces the bytes FROM by TO, of the same length.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

my ($port, $file, $from, $to) = @ARGV;
length $from == length $to or die "lengths";
my $listener = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1') or die "listen: $!";
open my $out, '>', "$file.tmp" or die "$file: $!";
print $out $listener->sockport;
close $out;
rename "$file.tmp", $file;
$SIG{CHLD} = 'IGNORE';

while (my $client = $listener->accept) {
    defined(my $pid = fork) or die "fork: $!";
    next if $pid;
    my $server = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or exit 1;
    my $both = IO::Select->new($client, $server);
    while (my @ready = $both->can_read) {
        for my $one (@ready) {
            sysread $one, my $bytes, 65536 or exit 0;
            $bytes =~ s/\Q$from\E/$to/g if $one == $server;
            syswrite $one == $server ? $client : $server, $bytes;
        }
    }
}
