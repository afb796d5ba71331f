#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Five mistakes in each package of clients/, which the scenarios of clients/conformance find: a
# renewal that ignores that the lease is lost, an end that is measured from the reply, a release
# that does not wait for a renewal, a failed job that counts as done, and a job that is not passed
# on when its program ends.
# Runs on: postgresql/native

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
use_newer_go

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
# is_hasty LINE LANGUAGE SED-SCRIPT FILE: a release does not wait for a renewal, so the scenario
# fails at this line: the release announces a loss, or leaves the lease.
is_hasty() { finds "${@:2}" 'a release during a renewal' "$1"; }
# forgives LANGUAGE SED-SCRIPT FILE: a job that failed counts as done.
forgives() { finds "$@" 'a failed run is repeated' 'outcomes j failed'; }
# keeps LANGUAGE SED-SCRIPT FILE: a program that ends counts its run as done: no other repeats it.
keeps() { finds "$@" 'that ends gives its run' 'B began limit=LIMIT -> ok number=1 rising'; }
loud='A release -> ok' left='B acquire x wait=0 -> ok rising'

@test "mistakes in the package for Python are found" {
    file=src/rowlock/_lease.py
    ignores python '/^                self._lose(error)$/{s/_lose.*/ttl/;n;d}' $file
    from_reply python 's/_end = \(.*\), sent/_end = \1, now()/' $file
    is_hasty "$left" python 's/ended(self._renewer, .*/ended(self._renewer, 0.0)/' $file
    is_hasty "$left" asyncio 's/_, running = await asyncio.wait(.*/running = task.cancel()/' \
        src/rowlock/aio.py
    file=src/rowlock/_jobs.py
    forgives python 's/else "failed"), text/else "done"), text/' $file
    keeps asyncio 's/token, "lost", /token, "done", /' $file
}

@test "mistakes in the package for Go are found" {
    ignores go 's/case err == nil && /case (err == nil || errors.Is(err, ErrLost)) \&\& /' lease.go
    from_reply go 's/sent: sent,/sent: sent - sent + now(),/; s/l.extend(sent)/l.extend(now())/' \
        lease.go
    is_hasty "$loud" go 's/^\t<-l.left$/if sleep(l.left, now()+1e8) { l.opts.TTL = 1 }/' \
        lease.go
    forgives go 's/outcome = "failed"/outcome = "done"/' run.go
    keeps go 's/if taken {/if taken \&\& func() bool { outcome = "done"; return true }() {/' run.go
}

@test "mistakes in the package for Node are found" {
    ignores node \
        's/LostError) return this.#lose(error.*;/LostError) this.#end = sent + this.ttl;/' \
        src/lease.ts
    from_reply node 's/#end = certainUntil(sent/#end = certainUntil(now()/' src/lease.ts
    is_hasty "$loud" node 's/if (this.#released || \(this.*\) return;/if (\1 return;/' src/lease.ts
    forgives node "s/isLost ? 'lost' : 'failed'/isLost ? 'lost' : 'done'/" src/jobs.ts
    keeps node "s/outcome = aborted ? 'lost'/outcome = aborted ? 'done'/" src/jobs.ts
}

@test "mistakes in the package for Java are found" {
    file=jdbc/src/main/java/rowlock/jdbc/Keeper.java
    ignores java 's/lose(error.reason.*/proven = before; due = before + third;/' $file
    from_reply java 's/proven = [a-z]*;/proven = Clock.now();/' $file
    is_hasty "$loud" java \
        's/= thread.copy();/= thread.copy().orTimeout(100, TimeUnit.MILLISECONDS);/' $file
    file=jdbc/src/main/java/rowlock/jdbc
    forgives java 's/? "done" : "failed"/? "done" : "done"/' $file/Run.java
    keeps java '/static.* finish(/,/^  }/s/, outcome, /, outcome.replace("lost", "done"), /' \
        $file/Job.java
}
