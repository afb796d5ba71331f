#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# packaging/home: a copy of the source gets another home and version, keeps nothing of the former
# one, and builds each package there, which has what its registry demands.

bats_require_minimum_version 1.5.0
load lib.bash
use_newer_go

COPY=$BATS_FILE_TMPDIR/source
export PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1
export npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false

setup_file() {
    mkdir "$COPY"
    (cd "$BATS_TEST_DIRNAME/../.." && tar c --exclude ./.git --exclude ./build --exclude target \
        --exclude node_modules --exclude 'dist*' --exclude '*.egg-info' --exclude '*.tgz' .) |
        tar x -C "$COPY"
    cp -R "$COPY" "$BATS_FILE_TMPDIR/former"
    cd "$COPY" || return 1
    cat >packaging/home <<'END'
url         https://acme.test/locks
source      https://code.acme.test/locks.git
issues      https://acme.test/locks/bugs
maintainer  Acme Locks
mail        locks@acme.test
go          code.acme.test/locks/clients/go
maven       test.acme.locks
npm         @acme/locks
pypi        acme-locks
version     1.3.4
END
    tools/write-home
}
setup() { cd "$COPY" || return 1; }

# The lines of standard input are lines of the FILE.
has() { # FILE
    while IFS= read -r line; do
        grep -qxF -- "$line" "$1" && continue
        cat "$1"
        echo "missing: $line"
        return 1
    done
}

@test "nothing of the former home remains" {
    run ! grep -rnE 'rowlock[.]example|example[.]rowlock' .
    tools/write-home --check
}

@test "the version is written wherever a tool demands it" {
    former=$(sed -n 's/^version  *//p' "$BATS_FILE_TMPDIR/former/packaging/home")
    # the histories of packages, and the modules of others, keep their numbers
    run ! grep -rnF "$former" Makefile packaging clients --include Makefile --include '*.toml' \
        --include package.json --include pom.xml --include APKBUILD --include README.md
    run ! grep -rnE "locks.* v$former" --include go.mod clients
    has Makefile <<<'VERSION := 1.3.4'
    has packaging/rpm/rowlock.spec <<<'Version:        1.3.4'
    has clients/go/schedulers/go.mod <<<$'\tcode.acme.test/locks/clients/go v1.3.4'
}

@test "the former home can be written again, and a place that differs is found" {
    cp -R "$COPY" "$BATS_TEST_TMPDIR/again"
    cd "$BATS_TEST_TMPDIR/again"
    cp "$BATS_FILE_TMPDIR/former/packaging/home" packaging
    run -1 tools/write-home --check
    grep -qx clients/go/go.mod <<<"$output"
    tools/write-home
    diff -r . "$BATS_FILE_TMPDIR/former"
    sed -i 's/^url .*/url example.org/' packaging/home
    run ! tools/write-home
    [[ $output == *"'url' is missing or malformed" ]]
    diff -r --exclude home . "$BATS_FILE_TMPDIR/former"
}

@test "Python: the wheel and the sdist pass twine, and have all that PyPI shows" {
    cp -R clients/python "$BATS_TEST_TMPDIR/client"
    cd "$BATS_TEST_TMPDIR"
    /usr/bin/python3 -m venv tools
    tools/bin/pip install 'setuptools>=77' twine 'readme-renderer[md]' >&2
    (cd client && ../tools/bin/python -c 'from setuptools import build_meta as b
b.build_sdist("../dist"); b.build_wheel("../dist")') >&2
    tools/bin/twine check --strict dist/*
    unzip -p dist/acme_locks-*.whl '*/METADATA' >wheel
    tar xzOf dist/acme_locks-*.tar.gz --wildcards 'acme_locks-*.*/PKG-INFO' \
        --exclude '*.egg-info' >sdist
    for metadata in wheel sdist; do
        has $metadata <<'END'
Name: acme-locks
Author-email: Acme Locks <locks@acme.test>
License-Expression: Apache-2.0
License-File: LICENSE
Project-URL: Homepage, https://acme.test/locks
Project-URL: Source, https://code.acme.test/locks
Project-URL: Issues, https://acme.test/locks/bugs
Description-Content-Type: text/markdown
Requires-Python: >=3.9
Classifier: Typing :: Typed
# rowlock for Python
END
        grep -E '^Summary: .{30}' $metadata
        grep '^Keywords: .*lease' $metadata
    done
    unzip -p dist/*.whl '*/LICENSE' | cmp - "$COPY/LICENSE"
    tools/bin/pip install --no-deps dist/*.whl >&2
    tools/bin/python -c 'import rowlock'
}

@test "Go: the module, its tests and the program of the scenarios are built" {
    cd clients/go
    go vet ./...
    go list ./... | grep -x code.acme.test/locks/clients/go/rowlocktest
    (cd tests && go vet ./...)
    (cd schedulers && go vet ./...)
    ../conformance/build go "$BATS_TEST_TMPDIR/go"
    [ -z "$(gofmt -l .)" ]
    cmp LICENSE "$COPY/LICENSE"
    [ -n "$(go list -f '{{.Doc}}' .)" ]
}

@test "Node: the tarball has all that npm shows, and the tests find the package by its name" {
    cp -R clients/node "$BATS_TEST_TMPDIR/client"
    cd "$BATS_TEST_TMPDIR/client"
    npm install --ignore-scripts --no-package-lock >&2
    npm pack >&2
    npx tsc -p test
    tar xzf acme-locks-*.tgz
    for file in README.md dist/index.js dist/index.d.ts dist/esm.mjs dist/fake.d.mts src/index.ts
    do
        [ -s "package/$file" ] || { echo "missing: $file"; return 1; }
    done
    cmp package/LICENSE "$COPY/LICENSE"
    jq -r '.name, .homepage, .bugs, .license, .author, .repository.url, .repository.directory,
        (.description | length > 30), (.keywords | length > 5)' package/package.json >shown
    diff - shown <<'END'
@acme/locks
https://acme.test/locks
https://acme.test/locks/bugs
Apache-2.0
Acme Locks <locks@acme.test>
git+https://code.acme.test/locks.git
clients/node
true
true
END
}

@test "Java: the jars have the license, and the poms what Maven Central demands" {
    maven -f clients/java/pom.xml -DskipTests package
    for part in jdbc shedlock spring; do
        for kind in '' -sources -javadoc; do
            [ -s clients/java/$part/target/rowlock-$part*-*[0-9]$kind.jar ]
        done
        unzip -p clients/java/$part/target/rowlock-$part*-*[0-9].jar META-INF/LICENSE |
            cmp - LICENSE
    done
    python3 - clients/java >"$BATS_TEST_TMPDIR/poms" <<'END'
import sys
import xml.etree.ElementTree as tree

def show(path, *wanted):
    pom = tree.parse(f"{sys.argv[1]}/{path}").getroot()
    for name in wanted:
        element = pom.find("/".join("{*}" + part for part in name.split("/")))
        print(path, name, element.text if element is not None else None)

def own(path):
    show(path, "artifactId", "name", "description")

own("pom.xml")
show("pom.xml", "groupId", "url", "licenses/license/name", "developers/developer/name",
     "developers/developer/email", "scm/connection", "scm/url", "issueManagement/url")
for part in "jdbc", "shedlock", "spring":
    own(f"{part}/pom.xml")
    show(f"{part}/pom.xml", "parent/groupId", "url")
show("shedlock/pom.xml", "dependencies/dependency/groupId")
show("spring/pom.xml", "dependencies/dependency/groupId")
END
    has "$BATS_TEST_TMPDIR/poms" <<'END'
pom.xml name rowlock
pom.xml groupId test.acme.locks
pom.xml url https://acme.test/locks
pom.xml licenses/license/name Apache-2.0
pom.xml developers/developer/name Acme Locks
pom.xml developers/developer/email locks@acme.test
pom.xml scm/connection scm:git:https://code.acme.test/locks.git
pom.xml scm/url https://code.acme.test/locks
pom.xml issueManagement/url https://acme.test/locks/bugs
jdbc/pom.xml name rowlock-jdbc
jdbc/pom.xml parent/groupId test.acme.locks
jdbc/pom.xml url None
shedlock/pom.xml name rowlock-shedlock
shedlock/pom.xml parent/groupId test.acme.locks
shedlock/pom.xml dependencies/dependency/groupId test.acme.locks
spring/pom.xml name rowlock-spring-boot-starter
spring/pom.xml parent/groupId test.acme.locks
spring/pom.xml dependencies/dependency/groupId test.acme.locks
END
    run ! grep ' description \(None\)\?$' "$BATS_TEST_TMPDIR/poms"
}

@test "the packages of distributions, the command's manual and the SBOM name the home" {
    has debian/control <<'END'
Maintainer: Acme Locks <locks@acme.test>
Homepage: https://acme.test/locks
END
    has packaging/rpm/rowlock.spec <<<'URL:            https://acme.test/locks'
    has packaging/alpine/APKBUILD <<<'url="https://acme.test/locks"'
    has rowlock.pc.in <<<'URL: https://acme.test/locks'
    has man/rowlock.1 <<<'Bugs: https://acme.test/locks/bugs'
    SOURCE_DATE_EPOCH=1 packaging/write-sbom 1 LICENSE >"$BATS_TEST_TMPDIR/sbom"
    [ "$(jq -r '.packages[] | select(.name | startswith("rowlock")) | .homepage' \
        "$BATS_TEST_TMPDIR/sbom" | sort | uniq -c | xargs)" = "5 https://acme.test/locks" ]
}
