# SPDX-License-Identifier: Apache-2.0
# yugabytedb.pl PORT FILE [old]: a proxy in front of the PostgreSQL server at PORT of 127.0.0.1. It
# makes clients believe that the server is YugabyteDB, and writes its own port into FILE. It changes
# only this:
#   the server's parameter server_version      15.2-YB-2025.1.0.0-b0
#   pg_catalog.version() in a statement        standin.version( )   which tests/lib/yugabytedb.sql
#                                              creates
#   settings yb_... in a statement             yb....   which any role may set
# With `old` the server seems to be PostgreSQL 12.22 instead, to clients that ask for a setting:
#   pg_catalog.current_setting(...)            standin.current_setting(...)
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

my ($port, $file, $old) = @ARGV;
my $listener = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1', ReuseAddr => 1) or die "listen: $!";
open my $out, '>', "$file.tmp" or die "$file: $!";
print $out $listener->sockport;
close $out;
rename "$file.tmp", $file;
$SIG{CHLD} = 'IGNORE';

while (my $client = $listener->accept) {
    defined(my $pid = fork) or die "fork: $!";
    next if $pid;
    close $listener;
    serve($client);
    exit 0;
}

sub put {
    my ($to, $bytes) = @_;
    while (length $bytes) {
        my $n = syswrite $to, $bytes;
        exit 0 unless defined $n;
        substr $bytes, 0, $n, '';
    }
}

# A client's first message has no type letter; a request for encryption or to cancel comes first and
# alone.
sub take_messages {
    my ($buffer, $started) = @_;
    my $whole = '';
    while (1) {
        my $at = $$started ? 1 : 0;
        last if length $$buffer < $at + 4;
        my $length = $at + unpack 'N', substr $$buffer, $at, 4;
        last if length $$buffer < $length;
        my $message = substr $$buffer, 0, $length, '';
        $$started = 1 if !$$started && unpack('N', substr $message, 4, 4) == 196608;
        # each replacement has the length of the original
        if ($$started && $old && $message =~ /^[PQ]/) {
            $message =~ s/pg_catalog\.current_setting\(/standin.current_setting   (/g;
        } elsif ($$started && $message =~ /^[PQ]/) {
            $message =~ s/pg_catalog\.version\(\)/standin.version( )  /g;
            $message =~ s/\byb_(effective_transaction_isolation_level)/yb.$1/g;
        }
        $whole .= $message;
    }
    return $whole;
}

sub serve {
    my ($client) = @_;
    my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or exit 1;
    my $both = IO::Select->new($client, $server);
    my ($asked, $started, $greeting, $ready) = ('', 0, '', 0);
    while (my @readable = $both->can_read) {
        for my $from (@readable) {
            my $n = sysread $from, my $bytes, 65536;
            # an error ends the greeting
            put($client, $greeting) if !$n && $from == $server && !$ready;
            exit 0 unless $n;
            if ($from == $client) {
                $asked .= $bytes;
                put($server, take_messages(\$asked, \$started));
            } elsif ($ready || !$started) {
                put($client, $bytes);
            } else { # collects the greeting, up to the first "ready for query" or an error
                $greeting .= $bytes;
                next if $greeting =~ /^R\x00{3}\x08\x00{4}/ && $greeting !~ /Z\x00{3}\x05[ITE]\z/;
                $old or $greeting =~ s/S....server_version\x00[^\x00]*\x00/my $v = "server_version\0" . "15.2-YB-2025.1.0.0-b0\0";
                    'S' . pack('N', 4 + length $v) . $v/es;
                $ready = 1;
                put($client, $greeting);
            }
        }
    }
}
