#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# browser.pl: drives a headless Chromium through its pipe for developers. It reads orders from
# standard input, one a line, and prints their results:
#   size WIDTH HEIGHT SCALE       of the window
#   theme light|dark
#   script on|off                 whether pages may run JavaScript
#   open URL                      waits until the page is loaded
#   eval EXPRESSION               prints the value, which may be a promise, as JSON
#   until EXPRESSION              repeats it for a minute, until it is true
#   key NAME                      presses a key: Tab, Enter, Space, Escape, or a character
#   type TEXT                     types it into the field that has the focus
#   shoot FILE                    the whole page as PNG
#   paper                         prints on paper, and shows how many texts each sheet has
# At the end it prints each error of the console or of the log, as a line "console: TEXT", and the
# exit status is 1 if there is one. The first argument is the browser's program.
use strict;
use warnings;
use Fcntl;
use IO::Handle;
use Compress::Zlib qw(uncompress);
use JSON::PP;
use MIME::Base64;
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);
use Time::HiRes qw(sleep time);

my ($program) = @ARGV;
binmode STDIN, ':encoding(UTF-8)';
STDOUT->autoflush;
my $folder = tempdir();
pipe my $their_in, my $out or die;
pipe my $in, my $their_out or die;
my $pid = fork // die;
if ($pid == 0) {
    # Descriptors 3 and 4 may be those of a pipe: copies above them are moved into place.
    my @copies = map { fcntl($_, F_DUPFD, 10) or die } $their_in, $their_out;
    require POSIX;
    $^F = 255; # descriptors stay open beyond exec
    POSIX::dup2($copies[0], 3);
    POSIX::dup2($copies[1], 4);
    open STDOUT, '>', "$folder/log";
    open STDERR, '>&', \*STDOUT;
    { exec $program, '--headless', '--remote-debugging-pipe', '--no-sandbox', '--disable-gpu',
        '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run', '--disable-extensions',
        '--disable-background-networking', "--user-data-dir=$folder/profile", 'about:blank' }
    POSIX::_exit(127);
}
close $their_in;
close $their_out;
$out->autoflush;

my ($number, $session, $session_began, $rest, @errors, %loaded) = (0, undef, 0, '');
sub note_event {
    my ($event) = @_;
    my ($method, $p) = ($event->{method} // '', $event->{params});
    $loaded{load} = 1 if $method eq 'Page.loadEventFired';
    push @errors, $p->{entry}{text} . ' ' . ($p->{entry}{url} // '')
        if $method eq 'Log.entryAdded' && $p->{entry}{level} =~ /error|warning/;
    push @errors, join ' ', map { $_->{value} // $_->{description} // '' } @{$p->{args}}
        if $method eq 'Runtime.consoleAPICalled' && $p->{type} =~ /error|warning|assert/;
    push @errors, $p->{exceptionDetails}{exception}{description} // $p->{exceptionDetails}{text}
        if $method eq 'Runtime.exceptionThrown';
}
sub next_message {
    my $end;
    while (($end = index $rest, "\0") < 0) {
        sysread $in, $rest, 1 << 20, length $rest or die "the browser has ended\n";
    }
    my $message = substr $rest, 0, $end + 1, '';
    chop $message;
    return decode_json($message);
}
sub call {
    my ($method, $params) = @_;
    my %order = (id => ++$number, method => $method, params => $params // {});
    $order{sessionId} = $session if $session;
    print $out encode_json(\%order), "\0";
    while (1) {
        my $message = next_message();
        if (($message->{id} // 0) == $number) {
            die "$method: $message->{error}{message}\n" if $message->{error};
            return $message->{result};
        }
        note_event($message);
    }
}
sub value_of {
    my $answer = call('Runtime.evaluate',
        { expression => $_[0], returnByValue => JSON::PP::true, awaitPromise => JSON::PP::true });
    die "$_[0]: $answer->{exceptionDetails}{exception}{description}\n"
        if $answer->{exceptionDetails};
    return $answer->{result}{value};
}
# The number of operators that show text in the content of each page.
sub texts_of_pages {
    my ($pdf) = @_;
    my (%content, @counts);
    while ($pdf =~ m{^(\d+) 0 obj\n<<[^>]*/Length (\d+)[^>]*>> stream\n}gm) {
        $content{$1} = substr $pdf, $+[0], $2;
        pos($pdf) = $+[0] + $2;
    }
    while ($pdf =~ m{^<</Type /Page\n(.*?)endobj}gms) {
        my $text = $1 =~ m{/Contents (\d+) 0 R} ? uncompress($content{$1}) // $content{$1} : '';
        push @counts, scalar(() = $text =~ /\bT[jJ]$/gm);
    }
    return \@counts;
}
my %orders = (
    size => sub {
        my ($width, $height, $scale) = split ' ', $_[0];
        call('Emulation.setDeviceMetricsOverride', { width => 0 + $width, height => 0 + $height,
            deviceScaleFactor => 0 + $scale,
            mobile => $width < 500 ? JSON::PP::true : JSON::PP::false });
    },
    theme => sub {
        call('Emulation.setEmulatedMedia',
            { features => [{ name => 'prefers-color-scheme', value => $_[0] }] });
    },
    script => sub {
        call('Emulation.setScriptExecutionDisabled',
            { value => $_[0] eq 'off' ? JSON::PP::true : JSON::PP::false });
    },
    open => sub {
        $loaded{load} = 0;
        call('Page.navigate', { url => $_[0] });
        note_event(next_message()) until $loaded{load};
    },
    eval => sub { print JSON::PP->new->allow_nonref->canonical->utf8->encode(value_of($_[0])), "\n" },
    until => sub {
        my $end = time + 60;
        until (value_of($_[0])) {
            die "never true: $_[0]\n" if time > $end;
            sleep 0.05;
        }
    },
    key => sub {
        my %codes = (Tab => 9, Enter => 13, Escape => 27);
        my $key = $_[0] eq 'Space' ? ' ' : $_[0];
        my $text = $key eq 'Enter' ? "\r" : $codes{$key} ? undef : $key;
        call('Input.dispatchKeyEvent', { type => $_, key => $key,
            windowsVirtualKeyCode => $codes{$key} // ord uc $key,
            $_ eq 'keyDown' && defined $text ? (text => $text) : () }) for 'keyDown', 'keyUp';
    },
    type => sub { call('Input.insertText', { text => $_[0] }) },
    paper => sub {
        my $pdf = decode_base64(call('Page.printToPDF')->{data});
        print encode_json(texts_of_pages($pdf)), "\n";
    },
    shoot => sub {
        my $all = call('Page.getLayoutMetrics')->{cssContentSize};
        my $data = call('Page.captureScreenshot', { format => 'png',
            captureBeyondViewport => JSON::PP::true,
            clip => { x => 0, y => 0, width => $all->{width}, height => $all->{height},
                scale => 1 } })->{data};
        open my $file, '>:raw', $_[0] or die "$_[0]: $!\n";
        print $file decode_base64($data);
    },
);
# The browser's other processes write into its folder until they have ended.
END {
    if ($pid) {
        my $status = $?;
        eval { $session = undef; call('Browser.close') };
        kill 'KILL', $pid unless $session_began;
        waitpid $pid, 0;
        for (1 .. 100) {
            remove_tree($folder, { error => \my $errors });
            last unless -e $folder;
            sleep 0.05;
        }
        $? = $status;
    }
}

my $page = (grep { $_->{type} eq 'page' } @{call('Target.getTargets')->{targetInfos}})[0];
$session = call('Target.attachToTarget',
    { targetId => $page->{targetId}, flatten => JSON::PP::true })->{sessionId};
$session_began = 1;
call("$_.enable") for qw(Page Runtime Log);
while (my $line = <STDIN>) {
    chomp $line;
    my ($order, $rest) = split ' ', $line, 2;
    next unless defined $order;
    ($orders{$order} // die "unknown order: $order\n")->($rest // '');
}
call('Runtime.evaluate', { expression => '0' }); # what came before it has been read
print "console: $_\n" for @errors;
exit(@errors ? 1 : 0);
