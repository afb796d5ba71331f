# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A server that has the extension, and a machine that keeps no trace of it. A PostgreSQL looks for its
# extensions beside its own program: so that program is copied below a DESTDIR, where make
# install-extension puts the files where this server, and no other, finds them.

# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

pg() { # PROGRAM ARGUMENT...: of the version of the server
    local program
    program=$(postgresql_program "$1")
    "$program" "${@:2}"
}
make_extension() { # TARGET [VARIABLE=VALUE...]: anew, with the command that is built already
    make -C "$BATS_TEST_DIRNAME/../.." --no-print-directory -o "$ROWLOCK" BUILD="$(dirname "$ROWLOCK")" \
        EXTENSION_BUILD="$(mktemp -d "$BATS_FILE_TMPDIR/made.XXXXXX")" \
        PG_CONFIG="$(postgresql_program pg_config)" "$@"
}

copy_installation() { # DESTDIR: the server's program, and links to all it reads
    local bin share lib
    bin=$(pg pg_config --bindir) share=$(pg pg_config --sharedir) lib=$(pg pg_config --pkglibdir)
    mkdir -p "$1$bin" "$1$share/extension" "$(dirname "$1$lib")"
    cp "$bin/postgres" "$1$bin/" # a link would be followed
    ln -s "$lib" "$1$lib"
    find "$share" -mindepth 1 -maxdepth 1 ! -name extension -exec ln -s -t "$1$share" {} +
    find "$share/extension" -mindepth 1 -maxdepth 1 ! -name 'rowlock*' -exec ln -s -t "$1$share/extension" {} +
}
start_server_with_extension() { # NAME: exports server_admin and server_url
    umask 022 # another user runs the server
    export stage=$ROWLOCK_TEST_FOLDER/$1-files
    mkdir -p "$stage"
    copy_installation "$stage"
    make_extension install-extension DESTDIR="$stage"
    server_program=$stage$(pg pg_config --bindir)/postgres
    start_postgresql "$1"
    export server_admin server_url
}
postgresql_program() { # as in server.sh, but the server of these tests
    if [ "$1" = postgres ] && [ -n "${server_program:-}" ]; then
        echo "$server_program"
        return
    fi
    # shellcheck disable=SC2012
    set -- "$1" "$(ls -d "/usr/lib/postgresql/"*"/bin/$1" 2>/dev/null | sort -V | tail -n 1)"
    echo "${2:-$(command -v "$1")}"
}

# ---- databases on it ---------------------------------------------------------------------------

fresh_database() { # NAME: empty, of the role tester; what follows is done there
    psql -qX "${server_admin}postgres" -c "DROP DATABASE IF EXISTS $1 WITH (FORCE)" \
        -c "CREATE DATABASE $1 OWNER tester" 2>/dev/null
    use_database "$1"
}
use_database() {
    export ROWLOCK_TEST_URL=$server_url$1 ROWLOCK_TEST_ADMIN=$server_admin$1
}
as_tester() { # STATEMENT: as the owner of the database, no superuser
    psql -qXAt -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -c "$1"
}
