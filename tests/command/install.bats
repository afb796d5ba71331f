#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# make install into a private folder; a program is built against it with pkg-config.

load lib

setup_file() {
    export STAGE=$BATS_FILE_TMPDIR/stage
    # installs the existing build: other flags would rebuild it
    make -C "$BATS_TEST_DIRNAME/../.." -o all BUILD="$(dirname "$ROWLOCK")" install \
        DESTDIR="$STAGE" PREFIX=/opt/rowlock >"$BATS_FILE_TMPDIR/log" 2>&1 ||
        { cat "$BATS_FILE_TMPDIR/log"; return 1; }
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    prefix=$STAGE/opt/rowlock
    # PKG_CONFIG_SYSROOT_DIR puts the folder before -I and -L
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$STAGE
    cat >program.c <<'C'
#include <rowlock.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_want want = {.name = "a"};
    struct rowlock_error error = {0};
    if (argc < 2 || rowlock_open(argv[1], NULL, &connection, &error) ||
        rowlock_begin(connection, &want, 1, 0, &error) || rowlock_commit(connection, &error))
        return fprintf(stderr, "%s\n", error.text), 1;
    rowlock_close(connection);
    return puts(rowlock_version()) < 0;
}
C
}

@test "command, libraries, headers, manual pages and completion are installed in their places" {
    [ -x "$prefix/bin/rowlock" ]
    [ -e "$prefix/lib/librowlock.a" ]
    [ "$(readlink "$prefix/lib/librowlock.so")" = "$(basename "$prefix"/lib/librowlock.so.*)" ]
    (cd "$BATS_TEST_DIRNAME/../../include" && find . -name '*.h') | while read -r header; do
        cmp "$BATS_TEST_DIRNAME/../../include/$header" "$prefix/include/$header"
    done
    [ -e "$prefix/share/man/man1/rowlock.1" ]
    for verb in run acquire ls schema; do [ -e "$prefix/share/man/man1/rowlock-$verb.1" ]; done
    [ -e "$prefix/share/bash-completion/completions/rowlock" ]
    [ -e "$prefix/share/zsh/site-functions/_rowlock" ]
    [ -e "$prefix/share/fish/vendor_completions.d/rowlock.fish" ]
    [ -e "$prefix/share/doc/rowlock/LICENSE" ]
    [ -e "$prefix/lib/systemd/system/rowlock-cron.service" ]
    [ -e "$prefix/lib/systemd/system/rowlock-leader@.service" ]
    [ -e "$prefix/lib/systemd/system/rowlock-serve.service" ]
    run -0 "$prefix/bin/rowlock" --version
    [ "rowlock $(pkg-config --modversion rowlock)" = "${lines[0]}" ]
}

@test "no link of the installed documents is dead, nor any anchor" {
    doc=$prefix/share/doc/rowlock
    [ -e "$doc/docs/leases.md" ]
    "$BATS_TEST_DIRNAME/../../tools/check-links" "$doc"
}

@test "install reports where pkg-config must search, if it does not" {
    unset PKG_CONFIG_SYSROOT_DIR
    PKG_CONFIG_PATH='' make -C "$BATS_TEST_DIRNAME/../.." -o all BUILD="$(dirname "$ROWLOCK")" \
        install PREFIX="$PWD/own" >log 2>&1
    grep -x "pkg-config does not look there: export PKG_CONFIG_PATH=$PWD/own/lib/pkgconfig" log
    PKG_CONFIG_PATH=$PWD/own/lib/pkgconfig make -C "$BATS_TEST_DIRNAME/../.." -o all \
        BUILD="$(dirname "$ROWLOCK")" \
        install PREFIX="$PWD/own" >log 2>&1
    run -1 grep PKG_CONFIG_PATH log
}

@test "a program is built with the flags of pkg-config, and runs" {
    # shellcheck disable=SC2046
    ${CC:-cc} ${SANITIZE:+-fsanitize=$SANITIZE} program.c -o program $(pkg-config --cflags \
        --libs rowlock)
    LD_LIBRARY_PATH=$prefix/lib run -0 ./program "sqlite:$PWD/x.db"
    [[ $output == *sqlite* ]]
    readelf -d program | grep -q 'NEEDED.*librowlock\.so\.[0-9]'
}

@test "a program is linked statically, too" {
    # shellcheck disable=SC2046
    ${CC:-cc} ${SANITIZE:+-fsanitize=$SANITIZE} program.c -o program \
        $(pkg-config --cflags rowlock) "$prefix/lib/librowlock.a" -ldl -pthread
    run -0 ./program "sqlite:$PWD/x.db"
}

@test "the systemd units are valid, and no setting of theirs takes sudo away from jobs" {
    if ! command -v systemd-analyze >/dev/null; then
        [ -z "${CI:-}" ] || { echo "systemd-analyze is missing: install systemd"; return 1; }
        skip "systemd-analyze is missing: install the package systemd"
    fi
    make -C "$BATS_TEST_DIRNAME/../.." -o all BUILD="$(dirname "$ROWLOCK")" install \
        PREFIX="$PWD/own" unitdir="$PWD/units" >log
    ls units
    ln -s 'rowlock-leader@.service' units/rowlock-leader@web.service
    systemd-analyze verify --man=no units/rowlock-cron.service units/rowlock-leader@web.service \
        units/rowlock-serve.service
    for unit in rowlock-cron rowlock-leader@web; do # jobs inherit the settings: mild ones
        systemd-analyze security --offline=yes --threshold=95 "units/$unit.service" >"$unit.txt" ||
            { cat "$unit.txt"; return 1; }
    done
    # nothing runs under it: strict ones (its exposure is 1.2)
    systemd-analyze security --offline=yes --threshold=15 units/rowlock-serve.service >serve.txt ||
        { cat serve.txt; return 1; }
    # The options that filter system calls would imply this with User=.
    run ! grep -E '^(Protect|Restrict|LockPersonality|NoNewPrivileges|SystemCall)' \
        units/rowlock-cron.service units/rowlock-leader@.service
    grep -x "ExecStart=$PWD/own/bin/rowlock cron /etc/rowlock/crontab" units/rowlock-cron.service
}

@test "uninstall leaves no file" {
    cp -r "$STAGE" stage
    make -C "$BATS_TEST_DIRNAME/../.." BUILD="$(dirname "$ROWLOCK")" uninstall \
        DESTDIR="$PWD/stage" PREFIX=/opt/rowlock
    [ "$(find stage -type f -o -type l)" = "" ]
}
