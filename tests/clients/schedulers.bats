#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/go/schedulers: gocron and robfig/cron, of two schedulers one performs each tick.
# Runs on: postgresql/native

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
use_newer_go

MODULE=$BATS_TEST_DIRNAME/../../clients/go/schedulers

setup_file() { install_technique; }

@test "it is formatted and vetted, and has no other dependency than the schedulers" {
    [ -z "$(gofmt -l "$MODULE")" ]
    (cd "$MODULE" && go vet ./...)
    (cd "$MODULE/tests" && go vet ./...)
    cd "$MODULE"
    run go list -f '{{if not .Indirect}}{{.Path}}{{end}}' -m all
    [ "$output" = "$(sed -n 's/^module //p' go.mod)
github.com/go-co-op/gocron/v2
github.com/robfig/cron/v3
$(sed -n 's/^module //p' ../go.mod)" ]
}

@test "its own tests pass" {
    cd "$MODULE/tests"
    go test -count 1 -timeout 5m .
}

@test "the programs of its README are built" {
    cp -R "$MODULE/.." "$BATS_TEST_TMPDIR/go"
    for number in 1 2; do
        program=$BATS_TEST_TMPDIR/go/schedulers/tests/program$number
        mkdir "$program"
        awk -v number=$number '/^```$/ {inside = 0} inside; /^```go$/ {inside = ++n == number}' \
            "$MODULE/README.md" >"$program/main.go"
        grep -q '^func main' "$program/main.go"
        [ -z "$(gofmt -l "$program")" ]
        (cd "$program" && go vet .)
    done
}
