#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# make release, without the parts that take minutes (Debian, Java; clients/java and make deb build
# those): two builds give the same bytes, its documents are about its files, each kind of package is
# installed from it by the language's own tool, and verify-release finds what was changed.

bats_require_minimum_version 1.5.0
load lib.bash
use_newer_go
export PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
export npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false
VERSION=$(home_of version)

# In a clone of its own, because a release is a tag. Not the sources that are not committed.
setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    git clone -q "$BATS_TEST_DIRNAME/../.." clone
    git -C clone tag "v$VERSION"
    PARTS="postgresql go python node docker" clone/packaging/make-release release "$VERSION" >&2
}
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }
RELEASE=$BATS_FILE_TMPDIR/release
verify() { "$BATS_FILE_TMPDIR/clone/tools/verify-release" "$@"; }

@test "it has every part, and its documents are about these files" {
    (cd "$RELEASE" && sha256sum --quiet -c SHA256SUMS)
    for file in source/rowlock-$VERSION.tar.gz postgresql/rowlock-extension-$VERSION.zip \
        python/rowlock-$VERSION-py3-none-any.whl python/rowlock-$VERSION.tar.gz \
        node/rowlock-$VERSION.tgz docker/Dockerfile; do
        grep -q "  $file\$" "$RELEASE/SHA256SUMS"
    done
    [ "$(jq -r ._type "$RELEASE/rowlock-$VERSION.intoto.json")" = \
        https://in-toto.io/Statement/v1 ]
    run -0 verify "$RELEASE"
    [[ $output == *"about these files and v$VERSION"*"the same bytes as from v$VERSION"* ]]
}

@test "a folder with other files is refused, and keeps them" {
    mkdir home
    echo x >home/mine
    run -1 "$BATS_FILE_TMPDIR/clone/packaging/make-release" home "$VERSION"
    [[ $output == *"name an empty folder"* ]]
    [ "$(ls -A home)" = mine ]
}

@test "a changed, a missing and an added file, and another commit, are found" {
    changed() { rm -rf changed; cp -R "$RELEASE" changed; }
    sums() { (cd changed && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort |
        xargs sha256sum >SHA256SUMS); }
    changed
    echo >>changed/docker/Dockerfile
    run -1 verify changed
    [[ $output == *"do not match SHA256SUMS"* ]]
    sums # an attacker who can change a file can change the sums
    run -1 verify changed
    [[ $output == *"the provenance is about other files"* ]]
    changed
    echo x >changed/node/x
    run -1 verify changed
    [[ $output == *"does not list node/x"* ]]
    changed
    rm changed/docker/Dockerfile
    run -1 verify changed
    changed
    sed -i 's/"gitCommit": "[0-9a-f]*"/"gitCommit": "0000"/' changed/*.intoto.json
    sums
    run -1 verify changed
    [[ $output == *"names another commit"* ]]
}

@test "the modules of Go come from its folder as from a proxy" {
    mkdir program
    cd program
    cat >main.go <<END
package main

import "$(home_of go)"

func main() {
	text, err := rowlock.Schema("postgresql", "")
	if err != nil || len(text) < 1000 {
		panic(err)
	}
}
END
    module=$(home_of go)
    go mod init program
    GOPROXY=file://$RELEASE/go GONOSUMDB=* GOFLAGS=-mod=mod GOMODCACHE=$PWD/modules \
        go get "$module@v$VERSION"
    GOPROXY=file://$RELEASE/go GONOSUMDB=* GOMODCACHE=$PWD/modules go run .
    [ -s "modules/cache/download/$module/@v/v$VERSION.zip" ]
}

@test "pip, npm and make install what it has" {
    /usr/bin/python3 -m venv environment
    environment/bin/pip install --no-index "$RELEASE"/python/*.whl
    environment/bin/python -c 'import rowlock; assert len(rowlock.schema("postgresql")) > 1000'
    mkdir wheel sdist
    unzip -q "$RELEASE"/python/*.whl -d wheel
    tar -xzf "$RELEASE"/python/*.tar.gz -C sdist
    diff -r sdist/*/src/rowlock wheel/rowlock
    npm init -y >&2
    npm install --no-package-lock "$RELEASE"/node/*.tgz >&2
    node -e 'require("rowlock").schema("postgresql").length > 1000 || process.exit(1)'
    unzip -q "$RELEASE"/postgresql/*.zip
    jq -e '.provides.rowlock.file' "rowlock-$VERSION/META.json" >file
    [ -s "rowlock-$VERSION/$(tr -d '"' <file)" ]
    [ -s "rowlock-$VERSION/rowlock.control" ]
}
