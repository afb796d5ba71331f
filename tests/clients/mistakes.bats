#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two mistakes in each package of clients/, which the scenarios of clients/conformance find: a
# renewal that ignores that the lease is lost, and an end that is measured from the reply.
# Runs on: postgresql/native

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# finds LANGUAGE SED-SCRIPT FILE SCENARIO LINE: with that mistake the scenarios fail at this line.
finds() {
    rm -rf mistake
    "$CONFORMANCE/build" "$1" "mistake/$1" "$2" "$3" >&2
    CONFORMANCE_LIMIT=20 scenarios mistake "$1" --only "$4" >found && return 1
    cat found
    grep -q '^not ok' found
    [ "$(grep -cxF "#   $5" found)" = "$(grep -c 'ok [0-9]' found)" ]
}
# ignores LANGUAGE SED-SCRIPT FILE: a renewal ignores that the lease is lost.
ignores() { finds "$@" 'a removed lease is announced' 'A lost limit=LIMIT -> lost'; }
# from_reply LANGUAGE SED-SCRIPT FILE: the end is measured from the reply.
from_reply() { finds "$@" 'is counted from before' 'A check -> ok short=400'; }

@test "mistakes in the package for Python are found" {
    file=src/rowlock/_core.py
    ignores python '/^                self._lose(error)$/{s/_lose.*/ttl/;n;d}' $file
    from_reply python 's/_end = sent/_end = now()/; s/_end = \(.*\), sent/_end = \1, now()/' $file
}

@test "mistakes in the package for Go are found" {
    ignores go 's/case err == nil && /case (err == nil || errors.Is(err, ErrLost)) \&\& /' lease.go
    from_reply go 's/token.Int64, sent/token.Int64, now()/; s/l.sent, end = /sent = now(); &/' \
        lease.go
}

@test "mistakes in the package for Node are found" {
    ignores node 's/LostError) return this.#lose.error.;/LostError) this.#end = sent + this.ttl;/' \
        src/lease.ts
    from_reply node 's/#end = certainUntil(sent/#end = certainUntil(now()/' src/lease.ts
}

@test "mistakes in the package for Java are found" {
    file=jdbc/src/main/java/rowlock/jdbc/Lease.java
    ignores java \
        's/lose(error.getCause());/certain = certain(before, ttl); due = before + third;/' $file
    from_reply java 's/certain = certain([a-z]*/certain = certain(Clock.now()/' $file
}
