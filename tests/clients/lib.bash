# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of the client packages: the same example, in each language, shows the same.

# HOME is a new folder for each run: the build folder keeps the results and downloads of Go.
GO_FOLDER=$(realpath "${ROWLOCK_TEST_BIN:-build}")/go
export ROWLOCK GOCACHE=$GO_FOLDER/cache GOMODCACHE=$GO_FOLDER/modules
export GOFLAGS="-buildvcs=false -modcacherw -trimpath" # so that what is built is the same anywhere

# Debian 12 has a Go that is older than clients/go/go.mod asks for; the module proxy has others.
use_newer_go() {
    local least=1.21 module
    module=golang.org/toolchain@v0.0.1-go$least.13.linux-$(go env GOARCH)
    printf '%s\n' "$least" "$(go env GOVERSION | tr -d go)" | sort -C -V && return
    mkdir -p "$GO_FOLDER"
    (
        flock 9
        [ -x "$GOMODCACHE/$module/bin/go" ] && exit
        go mod download "$module" && # which extracts no modes
            chmod +x "$GOMODCACHE/$module"/bin/* "$GOMODCACHE/$module"/pkg/tool/*/*
    ) 9>"$GO_FOLDER/lock" || return
    export PATH="$GOMODCACHE/$module/bin:$PATH" GOROOT="$GOMODCACHE/$module" GOTOOLCHAIN=local
}

# Maven's downloads, and the built package; for all tests, because two may run at once
M2=${ROWLOCK_TEST_M2:-$ROWLOCK_TEST_BIN/m2}
DEPENDENCY=org.apache.maven.plugins:maven-dependency-plugin:3.8.1
# Executes Maven, one at a time; with -o, which only reads earlier downloads, at any time. By its
# own settings Maven waits half an hour for a registry that does not answer, does not try again, and
# waits for tests without a limit.
# shellcheck disable=SC2086
maven() { # [-o] ARGUMENT...
    local log tries=0 again='' status=0 alone="flock $M2/lock"
    [ "$1" != -o ] || alone=
    mkdir -p "$M2"
    log=$(mktemp "$BATS_RUN_TMPDIR/maven.XXXXXX")
    until $alone mvn -q -B $again -Dmaven.repo.local="$M2" -Dmaven.wagon.rto=30000 \
        -Dsurefire.timeout=900 "$@" >"$log" 2>&1; do
        grep -q 'Could not transfer' "$log" && [ $((tries += 1)) -lt 3 ] || {
            status=1
            break
        }
        again=-U # without it Maven remembers the failure, and does not fetch
    done
    cat "$log"
    return $status
}
export npm_config_fetch_timeout=60000 # ms; by its own settings npm waits five minutes

home_of() { sed -n "s/^$1  *//p" "$BATS_TEST_DIRNAME/../../packaging/home"; } # KEY

# Packages, formatting and types do not depend on the engine: PostgreSQL's run tests them.
on_postgresql() { [ "$ROWLOCK_TEST_ENGINE" = postgresql ]; }

build_java() { # FOLDER: of `once java`; builds the packages of Java there, and installs them in M2
    mkdir "$1"
    tar -C "$BATS_TEST_DIRNAME/../../clients/java" --exclude target -cf - . | tar -C "$1" -xf -
    maven -f "$1/pom.xml" -DskipTests install
    maven -f "$1/jdbc/pom.xml" surefire:test -Dtest=ArgumentsTest # fetches what runs tests
}

# once NAME COMMAND...: the first of all tests of a run that asks for it executes COMMAND with the
# folder $SHARED/NAME. The others wait for it, and use the same folder.
SHARED=$ROWLOCK_TEST_FOLDER/clients
once() {
    mkdir -p "$(dirname "$SHARED/$1")"
    (
        flock 9
        if [ ! -e "$SHARED/$1.made" ]; then
            rm -rf "${SHARED:?}/$1"
            "${@:2}" "$SHARED/$1" || exit
            : >"$SHARED/$1.made"
        fi
    ) 9>"$SHARED/$1.lock" >&2
}

CONFORMANCE=$BATS_TEST_DIRNAME/../../clients/conformance
scenarios() { python3 "$CONFORMANCE/run.py" "$@"; }

# waits_its_turn COMMAND...: the README's example queues for the lease, gets it, works, and ends.
waits_its_turn() {
    token=$(rowlock acquire --ttl 5m import)
    start "$@"
    until_true is_waited_for import
    [ ! -s out ]
    rowlock release import --token "$token"
    wait "$started"
    [ "$(cat out)" = $'importing\nbonds\nshares' ]
    [ ! -s err ]
    is_free import
}
# passes_to_a_waiter COMMAND...: the example holds the lease, with a ttl of 3 s, and is killed.
passes_to_a_waiter() {
    start "$@"
    until_true grep -q importing out
    kill -s KILL "$started"
    rowlock run -w 60 import -- true
    rm out
}
# reports_a_break TEXT COMMAND...: the lease is broken; TEXT is in the example's error.
reports_a_break() {
    start "${@:2}"
    until_true grep -q importing out
    rowlock break import
    ends_with 1 "$started"
    grep -q "$1" err
}
