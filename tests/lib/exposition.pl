#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Checks Prometheus' text format on standard input, version 0.0.4: each metric once, with HELP and
# TYPE before its samples, labels escaped, values numbers. Prints "NAME{LABEL=VALUE,...} VALUE" for
# each sample, the label values as they were before they were escaped, control characters as \xNN.
use strict;
use warnings;

my (%helped, %typed, %seen, $current);
my $number = 0;

sub wrong { die "line $number: $_[0]\n" }

while (my $line = <STDIN>) {
    $number++;
    chomp $line or wrong 'the last line does not end';
    if ($line =~ /^# HELP (\S+) (.+)$/) {
        wrong "$1 has a second HELP" if $helped{$1}++;
        $current = $1;
    } elsif ($line =~ /^# TYPE (\S+) (gauge|counter)$/) {
        wrong "TYPE of $1 does not follow its HELP" unless defined $current && $current eq $1;
        $typed{$1} = $2;
    } elsif ($line =~ /^([a-z_]+)(?:\{(.*)\})? (-?\d+(?:\.\d+)?)$/) {
        my ($name, $labels, $value) = ($1, $2 // '', $3);
        wrong "a sample of $name among those of another metric"
            unless defined $current && $current eq $name && $typed{$name};
        wrong "$name has the wrong type" if $name =~ /_total$/ xor $typed{$name} eq 'counter';
        my $text = $labels;
        my @pairs;
        while ($text =~ s/^([a-z_]+)="((?:[^"\\]|\\["\\n])*)"(,|$)//) {
            my ($label, $content) = ($1, $2);
            $content =~ s/\\(["\\n])/$1 eq 'n' ? "\n" : $1/ge;
            $content =~ s/([\x00-\x1f])/sprintf '\\x%02x', ord $1/ge;
            push @pairs, "$label=$content";
        }
        wrong "labels of $name: $labels" if $text ne '';
        wrong "$name\{$labels\} occurs twice" if $seen{"$name $labels"}++;
        print $name, @pairs ? '{' . join(',', @pairs) . '}' : '', " $value\n";
    } else {
        wrong "neither a comment nor a sample: $line";
    }
}
wrong 'no samples' unless %seen;
