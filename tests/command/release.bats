#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The source release: the same revision gives the same bytes, and tools/verify-release finds a
# difference. The versions in the packages agree. Without git only the versions are tested.
# Quick: never

bats_require_minimum_version 1.5.0

setup_file() {
    export TOP=$BATS_TEST_DIRNAME/../..
    ! is_clone || "$TOP/packaging/make-dist" "$BATS_FILE_TMPDIR/dist" "$(git -C "$TOP" \
        show HEAD:Makefile | sed -n 's/^VERSION := //p')" >"$BATS_FILE_TMPDIR/made"
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    version=$(sed -n 's/^VERSION := //p' "$TOP/Makefile")
    dist=$BATS_FILE_TMPDIR/dist
}
is_clone() { git -C "$TOP" rev-parse -q --verify HEAD >/dev/null 2>&1; }
needs_git() { is_clone || skip "this is not a git clone"; }

# The files with only a version are write-home's (make style); these have a history as well.
@test "each history begins with the version of packaging/home" {
    [ "$version" = "$(sed -n 's/^version  *//p' "$TOP/packaging/home")" ]
    head -n 1 "$TOP/debian/changelog" | grep "^rowlock ($version-[0-9]*)"
    grep -A 1 -x '%changelog' "$TOP/packaging/rpm/rowlock.spec" | grep -- "- $version-[0-9]*\$"
    grep -m 1 '^## ' "$TOP/CHANGELOG.md" |
        grep -xE "## \[(Unreleased\]|${version//./[.]}\] - [0-9]{4}-[0-9]{2}-[0-9]{2})"
}

@test "NEWS.Debian tells administrators to upgrade the schema to the version that is needed" {
    needed=$(sed -n 's/^.define ROWLOCK_SCHEMA_VERSION //p' "$TOP/src/session/connection.h")
    [ -n "$needed" ]
    [ "$needed" != 1 ] || return 0 # the first one: no database has an older schema
    for package in rowlock librowlock1; do
        grep -q "needs schema version $needed " "$TOP/debian/$package.NEWS"
        grep -qx ' *rowlock schema upgrade' "$TOP/debian/$package.NEWS"
    done
    # apt-listchanges shows an entry only if the package has that version
    entry=$(sed -n '1s/^\(rowlock ([^)]*)\).*/\1/p' "$TOP/debian/rowlock.NEWS")
    [ -n "$entry" ]
    grep -qF "$entry" "$TOP/debian/changelog"
}

@test "a release is verified, and a changed file is found" {
    needs_git
    # A repository of this test's own, because it adds a tag.
    git clone -q "$TOP" clone
    git -C clone tag "v$(basename "$dist"/*.tar.gz .tar.gz | cut -c 9-)" HEAD
    run -0 clone/tools/verify-release "$dist"
    [[ $output == *"the same bytes"* ]]

    mkdir unpacked changed
    tar -xzf "$dist"/*.tar.gz -C unpacked
    echo >>unpacked/rowlock-*/README.md
    tar -C unpacked -czf "changed/$(basename "$dist"/*.tar.gz)" .
    cp "$dist"/*.json "$dist/SHA256SUMS" changed
    run -1 clone/tools/verify-release changed
    [[ $output == *"do not match SHA256SUMS"* ]]
    (cd changed && sha256sum ./*.json ./*.gz | sed 's|\./||' >SHA256SUMS)
    run -1 clone/tools/verify-release changed
    [[ $output == *"differs from the release of v"* ]]
}

# The fields that SPDX 2.3 requires of a document, of its packages and of its relationships.
sbom() { # SELECT ...: from the document j, its packages p and its relationships r
    local get="json_extract(value, '\$."
    sqlite3 -batch :memory: "WITH d AS (SELECT readfile('$(echo "$dist"/*.json)') AS j),
        p AS (SELECT ${get}SPDXID') AS id, ${get}name') AS name,
                     ${get}downloadLocation') AS location, ${get}copyrightText') AS copyright,
                     ${get}licenseConcluded') AS concluded, ${get}licenseDeclared') AS declared
                FROM d, json_each(j, '\$.packages')),
        r AS (SELECT ${get}spdxElementId') AS a, ${get}relationshipType') AS type,
                     ${get}relatedSpdxElement') AS b
                FROM d, json_each(j, '\$.relationships')) $1"
}
of_document() { sbom "SELECT json_extract(j, '\$.$1') FROM d"; }

@test "the SBOM is SPDX 2.3, and names the tarball by its sum" {
    needs_git
    sum=$(sha256sum "$dist"/*.tar.gz | cut -d ' ' -f 1)
    [ -n "$sum" ]
    [ "$(of_document 'packages[#-1].checksums[0].checksumValue')" = "$sum" ]
    [ "$(of_document spdxVersion)" = SPDX-2.3 ]
    [ "$(of_document dataLicense)" = CC0-1.0 ]
    [ "$(of_document SPDXID)" = SPDXRef-DOCUMENT ]
    [ "$(of_document name)" = "rowlock-$version" ]
    of_document documentNamespace | grep -E '^https://[^ #]+$'
    of_document creationInfo.created |
        grep -xE '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z'
    of_document 'creationInfo.creators[0]' | grep -x "Tool: .*-$version"

    [ "$(sbom "SELECT count(DISTINCT id) = count(*) AND count(*) > 1 FROM p")" = 1 ]
    [ "$(sbom "SELECT * FROM p WHERE (id GLOB 'SPDXRef-?*' AND id NOT GLOB '*[^a-zA-Z0-9.-]*'
            AND name <> '' AND location <> '' AND copyright <> '' AND concluded <> ''
            AND declared <> '') IS NOT TRUE")" = "" ]
    # the document describes rowlock, which contains the packages of clients/, and may load each of
    # the others
    [ "$(sbom "SELECT a, type, b FROM r WHERE a = 'SPDXRef-DOCUMENT'")" = \
        "SPDXRef-DOCUMENT|DESCRIBES|SPDXRef-rowlock" ]
    contained="SELECT b FROM r WHERE a = 'SPDXRef-rowlock' AND type = 'CONTAINS'"
    [ "$(sbom "$contained ORDER BY 1" | sed 's/SPDXRef-rowlock-//')" = \
        "$(cd "$TOP/clients" && dirname -- */README.md)" ]
    [ "$(sbom "SELECT id FROM p WHERE id <> 'SPDXRef-rowlock' AND id NOT IN ($contained)
            ORDER BY 1")" = \
        "$(sbom "SELECT a FROM r WHERE type = 'OPTIONAL_DEPENDENCY_OF' AND
            b = 'SPDXRef-rowlock' ORDER BY 1")" ]
}
