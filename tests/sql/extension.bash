# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A server that has the extension, on a machine that keeps no trace of it. PostgreSQL searches
# extensions relative to its own program. So that program is copied below a DESTDIR, and make
# install-extension puts the files there, where only this server finds them.

# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

pg() { # PROGRAM ARGUMENT...: in the server's version
    local program
    program=$(postgresql_program "$1")
    "$program" "${@:2}"
}
make_extension() { # TARGET [VARIABLE=VALUE...]: rebuilds the files with the existing command
    make -C "$BATS_TEST_DIRNAME/../.." --no-print-directory -o "$ROWLOCK" \
        BUILD="$(dirname "$ROWLOCK")" \
        EXTENSION_BUILD="$(mktemp -d "$BATS_FILE_TMPDIR/made.XXXXXX")" \
        PG_CONFIG="$(postgresql_program pg_config)" "$@"
}

has_programs() {
    [ -n "$(postgresql_program pg_config)" ] && [ -n "$(postgresql_program pg_dump)" ]
}
copy_installation() { # DESTDIR: copies the server's program, and links everything that it reads
    local bin share lib
    bin=$(pg pg_config --bindir) share=$(pg pg_config --sharedir) lib=$(pg pg_config --pkglibdir)
    mkdir -p "$1$bin" "$1$share/extension" "$(dirname "$1$lib")"
    cp "$bin/postgres" "$1$bin/" # the server would follow a link
    ln -s "$lib" "$1$lib"
    find "$share" -mindepth 1 -maxdepth 1 ! -name extension -exec ln -s -t "$1$share" {} +
    find "$share/extension" -mindepth 1 -maxdepth 1 ! -name 'rowlock*' -exec ln -s \
        -t "$1$share/extension" {} +
}
start_server_with_extension() { # NAME: exports server_admin and server_url
    has_programs || return 0
    umask 022 # another user runs the server
    export stage=$ROWLOCK_TEST_FOLDER/$1-files
    mkdir -p "$stage"
    copy_installation "$stage"
    make_extension install-extension DESTDIR="$stage"
    server_program=$stage$(pg pg_config --bindir)/postgres
    start_postgresql "$1"
    export server_admin server_url
}

# ---- databases on it ---------------------------------------------------------------------------

fresh_database() { # NAME: creates an empty database of the role tester, used from then on
    has_programs || skip "pg_config or pg_dump of the server's version is missing"
    psql -qX "${server_admin}postgres" -c "DROP DATABASE IF EXISTS $1 WITH (FORCE)" \
        -c "CREATE DATABASE $1 OWNER tester" 2>/dev/null
    use_database "$1"
}
use_database() {
    export ROWLOCK_TEST_URL=$server_url$1 ROWLOCK_TEST_ADMIN=$server_admin$1
}
extended=${BATS_TEST_FILENAME##*/}
setup_file() { start_server_with_extension "$extended"; }
teardown_file() { stop_server "$extended"; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export ROWLOCK_TEST_ENGINE=postgresql
    fresh_database "e$BATS_TEST_NUMBER"
}
as_tester() { # STATEMENT: as the database's owner, without superuser rights
    psql -qXAt -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -c "$1"
}
