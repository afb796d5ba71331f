# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of docs/coming-from/*.md: runs their blocks, each of which begins with a comment
# that names it.

load ../command/lib
PAGES=$BATS_TEST_DIRNAME/../../docs/coming-from

# The page's commands find rowlock and the database, and the user's programs, which note that they
# ran, and the name that was locked meanwhile.
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir bin
    ln -s "$(realpath "$ROWLOCK")" bin/rowlock
    PATH=$PWD/bin:$PATH
    export ROWLOCK_URL=$ROWLOCK_TEST_URL
    for each in update-bond send-mail load-rates report close-month scheduler bin/celery; do
        printf '#!/bin/sh\nrowlock --json ls >held\necho "%s $*" >>ran\n' ${each##*/} >$each
        chmod +x $each
    done
    unset -f rowlock
}
block() { # COMMENT: the block whose first line, behind the sign of a comment, begins with it
    awk -v comment="$1" '
        /^```/ { inside = !inside; first = 1; wanted = 0; next }
        inside && first { first = 0; wanted = index($0, comment) == (/^--/ ? 4 : 3) }
        wanted' "$PAGES"/*.md
}
do_block() { # COMMENT
    block "$1" >block.sh
    [ -s block.sh ] || { echo "no block: $1"; return 99; }
    sh -eu block.sh
}
