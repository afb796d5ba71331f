#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# page.pl: reads a page of `rowlock serve` from standard input, and complains if it contains
# anything but the elements and attributes that serve writes: then a text of others was not escaped.
# http.pl loads it for check_page.
use strict;
use warnings;
use Encode qw(decode FB_CROAK);

my %elements = map { $_ => 1 } qw(html head meta title link script noscript body a header div img
    nav p main h1 h2 span strong section ul li bdi table caption thead tbody tr th td time code
    footer label input dl dt dd pre details summary br);
my %attributes = map { $_ => 1 } qw(lang charset name content rel href type src defer http-equiv
    class id aria-label aria-current aria-labelledby role hidden tabindex data-refresh data-label
    datetime title scope alt width height for placeholder autocomplete spellcheck maxlength value);

sub check_page { # BYTES: dies with the complaint
    my ($bytes) = @_;
    my $page = eval { decode('UTF-8', $bytes, FB_CROAK) } // die "not UTF-8\n";
    die sprintf("a control character: %02x\n", ord $1)
        if $page =~ /([\x00-\x09\x0b-\x1f\x7f-\x9f])/;
    die "no doctype\n" unless $page =~ s/^<!doctype html>\n//;
    while ($page =~ s{<(/?)([^\s<>/]+)((?:\s+[^\s=<>"]+(?:="[^"<>]*")?)*)\s*>}{}) {
        my ($element, $rest) = ($2, $3);
        die "an element <$element>\n" unless $elements{$element};
        while ($rest =~ s/^\s+([^\s=<>"]+)(?:="([^"]*)")?//) {
            my ($attribute, $value) = ($1, $2 // '');
            die "an attribute $attribute\n" unless $attributes{$attribute};
            die "an address $value\n"
                if $attribute =~ /^(?:href|src)$/ && $value !~ m{^(?:/[a-z.?=/]*[\w.%=~-]*(?:&amp;v=[0-9]+)?|#main)$};
        }
        die "in <$element>: $rest\n" if $rest =~ /\S/;
    }
    die "a bracket outside an element: $1\n" if $page =~ /(.{0,20}[<>].{0,20})/s;
    die "an ampersand: $1\n" if $page =~ /(&(?!(?:amp|lt|gt|quot|middot|#39);).{0,20})/s;
}

unless (caller) {
    local $/;
    binmode STDIN;
    check_page(scalar <STDIN>);
}
1;
