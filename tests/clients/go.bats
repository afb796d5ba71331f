#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/go on a real server with each driver, and as a module that another program requires.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
load ../surface/lib
use_newer_go

CLIENT=$BATS_TEST_DIRNAME/../../clients/go
MODULE=$(sed -n "s/^module //p" "$CLIENT/go.mod") VERSION=v$(home_of version)

setup_file() {
    install_technique
    once go-tests build_tests
}
build_tests() { (cd "$CLIENT/tests" && go test -race -c -o "$1" .); } # FILE
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    case $ROWLOCK_TEST_ENGINE in
    postgresql)
        drivers="pgx postgres" import=github.com/jackc/pgx/v5/stdlib
        source="$ROWLOCK_TEST_URL?sslmode=disable"
        ;;
    mariadb)
        drivers=mysql import=github.com/go-sql-driver/mysql
        source=${ROWLOCK_TEST_URL#*://}
        source=${source%@*}@tcp\(${source#*@} # USER:PASSWORD@tcp(HOST:PORT)/DATABASE
        source=${source%/*}\)/${source##*/}
        ;;
    esac
}
teardown() { end_started; }

@test "it is formatted and vetted, also without cgo and on another system, and needs no module" {
    on_postgresql || return 0
    [ -z "$(gofmt -l "$CLIENT")" ]
    (cd "$CLIENT" && go vet ./... && CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go vet ./...)
    (cd "$CLIENT/tests" && go vet ./...)
    ! grep -q require "$CLIENT/go.mod"
}

@test "its public names and types are the recorded ones" {
    on_postgresql || return 0
    for package in . ./rowlocktest ./schedulers; do
        (cd "$CLIENT/$package" && go doc -all .)
    done | grep -E $'^(package|func|type|const|var|\t|\\)|\\})' |
        sed -E 's,[[:space:]]*//.*,,; /^[[:space:]]*$/d' | same_as_recorded go
}

@test "its own tests pass with each driver, and the race detector" {
    (cd "$CLIENT" && go test ./...)
    if [ "$ROWLOCK_TEST_ENGINE" = postgresql ]; then
        # shellcheck source=../lib/server.sh
        . "$BATS_TEST_DIRNAME/../lib/server.sh"
        POOL=5 start_pooler go-pooler "$ROWLOCK_TEST_URL"
        export ROWLOCK_TEST_POOLER=127.0.0.1:$server_port
    fi
    for driver in $drivers; do
        echo "$driver"
        (cd "$CLIENT/tests" && ROWLOCK_TEST_DRIVER=$driver "$SHARED/go-tests" -test.timeout 30m)
    done
}

# build_example NUMBER [SED]: a program of the README, in a module that requires the built one from
# a module proxy, which is a folder.
build_example() {
    local at=$BATS_TEST_TMPDIR/proxy/$MODULE/@v
    mkdir -p "$at" "$MODULE@$VERSION" program
    (cd "$CLIENT" && tar c --exclude ./tests --exclude ./schedulers .) |
        tar x -C "$MODULE@$VERSION"
    python3 -c 'import pathlib, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1], "w")
for file in pathlib.Path(sys.argv[2]).rglob("*.*"):
    archive.write(file)
archive.close()' "$at/$VERSION.zip" "$MODULE@$VERSION"
    cp "$CLIENT/go.mod" "$at/$VERSION.mod"
    echo "{\"Version\": \"$VERSION\"}" >"$at/$VERSION.info"
    echo "$VERSION" >"$at/list"
    awk -v number="$1" '/^```$/ {inside = 0} inside; /^```go$/ {inside = ++count == number}' \
        "$CLIENT/README.md" >program/main.go
    grep -q '^func main' program/main.go
    [ -z "$(gofmt -l program)" ]
    sed -i "s|github.com/jackc/pgx/v5/stdlib|$import|; s|\"pgx\"|\"${drivers%% *}\"|; ${2:-}" \
        program/main.go
    (
        cd program
        cp "$CLIENT/tests/go.mod" "$CLIENT/tests/go.sum" . # the versions of the drivers
        sed -i '/^replace/d' go.mod
        # a cache of its own, so that the module is this one; the drivers are downloaded already
        local folders="file://$BATS_TEST_TMPDIR/proxy,file://$GOMODCACHE/cache/download"
        GOPROXY="$folders,$(go env GOPROXY)"
        export GOPROXY GOMODCACHE=$BATS_TEST_TMPDIR/modules GONOSUMDB=$MODULE
        go build -mod=mod -o ../example .
    )
}

@test "the README's example, with the built module, waits its turn, and does its work" {
    build_example 1
    waits_its_turn ./example "$source"
}

@test "a killed holder's lease passes to a waiter; a broken one is reported" {
    build_example 1 's|fmt.Println(part).*|_ = part; <-ctx.Done(); return ctx.Err()|
        s|30 \* time|3 * time|'
    passes_to_a_waiter ./example "$source"
    reports_a_break \
        'is lost: stop the work done under it (was broken on .*): context canceled$' \
        ./example "$source"
}

@test "the README's job: one of two programs performs it, and ends at a signal" {
    # due once here; MariaDB's server has no zones
    sed='s/"5m"/"50w"/; s/"0 3 \* \* \*"/"0 3 1 1 *"/; s|"Europe/Berlin"|"UTC"|'
    build_example 2 "$sed"
    mv example node
    start ./node "$source"
    until_true grep -q shares out
    build_example 2 "$sed; s/err = jobs.Run(\(.*\) err != nil/count, _ := jobs.RunDue(\1 count > 0/"
    ./example "$source"
    kill -s TERM "$started"
    wait "$started"
    [ "$(cat out)" = $'bonds\nshares' ]
    [ "$(rowlock --json jobs prices | jq -r '.[0].last_output')" = '37 prices' ]
}

# The packages of OpenTelemetry are stand-ins, and the events those of a lease of rowlocktest.
@test "the README's histogram gets the events" {
    on_postgresql || return 0
    mkdir metrics
    cd metrics
    mkdir attribute metric
    printf '%s\n' 'module example' 'go 1.21' "require $MODULE $VERSION" \
        "replace $MODULE => $CLIENT" >go.mod
    cat >attribute/attribute.go <<'GO'
package attribute

func String(key, value string) string { return key + "=" + value }
GO
    cat >metric/metric.go <<'GO'
package metric

import "context"

type Float64Histogram interface {
	Record(context.Context, float64, ...[]string)
}

func WithAttributes(all ...string) []string { return all }
GO
    cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"

	"example/attribute"
	"example/metric"

	"rowlock.example/rowlock"
	"rowlock.example/rowlock/rowlocktest"
)

type printed struct{}

func (printed) Record(_ context.Context, _ float64, all ...[]string) { fmt.Println(all) }

func main() {
	opts := rowlock.Options{OnEvent: measured(printed{})}
	_ = rowlock.Do(context.Background(), rowlocktest.New().DB(), "x", opts,
		func(context.Context, *rowlock.Lease) error { return nil })
}

GO
    sed -n '/^\/\/ measured/,/^```$/{/^```$/d;p}' "$CLIENT/README.md" >>main.go
    [ -z "$(gofmt -l main.go)" ]
    [ "$(go run -mod=mod .)" = $'[[event=acquired name=x]]\n[[event=released name=x]]' ]
}

@test "the product has at most 1,200 lines of code, and 400 of jobs, installing aside" {
    code() { # FILE...: without comments
        cat "$@" | grep -vcE '^[[:space:]]*(//.*)?$'
    }
    of_jobs=("$CLIENT"/{jobs,run}.go)
    mapfile -t others < <(find "$CLIENT" -maxdepth 1 -name '*.go' ! -name '*_test.go' \
        ! -name jobs.go ! -name run.go ! -name install.go)
    lines=$(code "${others[@]}") jobs=$(code "${of_jobs[@]}")
    [ "$lines" -gt 100 ]
    [ "$lines" -le 1200 ]
    [ "$jobs" -gt 100 ]
    [ "$jobs" -le 400 ]
}
