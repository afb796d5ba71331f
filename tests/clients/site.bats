#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# make site: its links lead somewhere, its pages fit a telephone and a wide screen, light and dark,
# load nothing from another address, and its playground queues, passes on and refuses a late write.

bats_require_minimum_version 1.5.0
load lib.bash
load ../command/browser
export PIP_CACHE_DIR=$ROWLOCK_TEST_BIN/pip

setup_file() {
    export SITE=$ROWLOCK_TEST_BIN/site
    ROWLOCK=$ROWLOCK_TEST_BIN/rowlock make -s -C "$BATS_TEST_DIRNAME/../.." \
        BUILD="$(realpath "$ROWLOCK_TEST_BIN")" site >"$BATS_FILE_TMPDIR/made" 2>&1 || {
        cat "$BATS_FILE_TMPDIR/made"
        return 1
    }
    cat >"$BATS_FILE_TMPDIR/server.py" <<'END'
import functools, http.server, sys
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(
    ("127.0.0.1", 0), functools.partial(Quiet, directory=sys.argv[1]))
with open(sys.argv[2], "w") as file:
    file.write(f"http://127.0.0.1:{server.server_port}/\n")
server.serve_forever()
END
    mkfifo "$BATS_FILE_TMPDIR/url"
    /usr/bin/python3 "$BATS_FILE_TMPDIR/server.py" "$SITE/html" "$BATS_FILE_TMPDIR/url" 3>&- &
    export SERVER=$! URL
    read -r URL <"$BATS_FILE_TMPDIR/url"
}
teardown_file() { [ -z "${SERVER:-}" ] || kill "$SERVER"; }
setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

@test "every link leads somewhere, and a wrong one is found" {
    grep -q 'pages: every link leads somewhere' "$BATS_FILE_TMPDIR/made"
    cp -R "$SITE/html" copy
    sed -i 's/href="playground.html"/href="nowhere.html"/' copy/index.html
    rm copy/serve/history.png
    run -1 "$BATS_TEST_DIRNAME/../../site/check" copy
    [[ $output == *"index.html: no nowhere.html"*"index.html: no serve/history.png"* ]]
}

@test "each page of the source is a page of the site" {
    cd "$BATS_TEST_DIRNAME/../../docs"
    for page in *.md */*.md; do
        [ "$page" != README.md ] || page=contents.md
        [ -s "$SITE/html/${page%.md}.html" ] || [ -s "$SITE/html/${page%/README.md}/index.html" ]
    done
    for verb in run acquire job serve doctor; do
        grep -q "usage: rowlock $verb" "$SITE/html/commands/$verb.html"
    done
}

@test "narrow and wide, light and dark, nothing is wider than the window" {
    need_browser
    for theme in light dark; do # each in a browser of its own, because the site keeps a choice
        for size in '390 844' '1280 900'; do
            echo "size $size 1"
            echo "theme $theme"
            for page in index start recipes sql databases commands/run playground; do
                echo "open $URL$page.html"
                # else what it loads is cut off, which the browser reports as an error
                [ $page != playground ] ||
                    echo "until document.querySelector('#play').dataset.ready === 'yes'"
                # a table or a block of code may scroll by itself
                echo "eval document.documentElement.scrollWidth <= innerWidth ? 'fits' :" \
                    "'too wide: $page'"
            done
            echo "shoot $BATS_TEST_TMPDIR/$theme.png"
        done >orders
        [ $theme = light ] && scheme=default || scheme=slate
        echo "until document.querySelector('[data-md-color-scheme]')" \
            ".dataset.mdColorScheme === '$scheme'" >>orders
        browse <orders
        cat seen
        [ "$(grep -c '"fits"' seen)" = 14 ]
    done
}

@test "the search finds a page" {
    need_browser
    browse <<END
size 1280 900 1
open ${URL}index.html
until document.querySelector('[data-md-component=search], .md-search, [aria-label=Search]') !== null
END
    [ -n "$(find "$SITE/html" -name 'search*.json' -size +50k)" ]
    grep -rqs 'gate row\|fence' "$SITE"/html/search*.json "$SITE"/html/*/search*.json
}

# The state and the text of a program's card, and a press of one of its buttons.
card() { echo "document.querySelectorAll('#play .client')[$1]"; }
press() { echo "eval $(card "$1").querySelector('[data-do=$2]').click()"; }
until_state() { echo "until $(card "$1").dataset.state === '$2'"; }
token() { echo "eval 'token $1 ' + /token (\\d+)/.exec($(card "$1").textContent)[1]"; }

@test "the playground: a queue, a frozen holder, a late write refused, and one without a fence" {
    need_browser
    {
        echo "size 1280 1400 1"
        echo "open ${URL}playground.html"
        echo "until document.querySelector('#play').dataset.ready === 'yes'"
        press 0 acquire; until_state 0 holds; token 0
        press 1 acquire; until_state 1 waits
        press 2 acquire; until_state 2 waits
        echo "until document.querySelector('#play').textContent.includes('program C')"
        press 0 release; until_state 1 holds; token 1
        press 1 freeze; until_state 2 holds; token 2 # its lease ends 10 s after its last renewal
        press 1 freeze; press 1 write; until_state 1 lost
        press 2 write
        echo "until document.querySelector('#play').textContent.includes('C, token')"
        echo "shoot $BATS_TEST_TMPDIR/wide.png"
        press 2 kill; until_state 2 dead
        press 0 acquire; until_state 0 holds
        press 0 freeze
        press 1 acquire; until_state 1 holds
        press 0 freeze; press 0 careless
        echo "until document.querySelector('#play').textContent.includes('A, token')"
        echo "eval [...document.querySelectorAll('#play .refused')]" \
            ".map(line => line.textContent).join()"
        echo "eval performance.getEntriesByType('resource').every(x => x.name.startsWith('$URL'))"
    } | browse
    cat seen
    mapfile -t tokens < <(sed -n 's/^"token [0-2] \([0-9]*\)"$/\1/p' seen)
    [ ${#tokens[@]} = 3 ]
    [ "${tokens[0]}" -lt "${tokens[1]}" ]
    [ "${tokens[1]}" -lt "${tokens[2]}" ]
    grep -q 'SELECT rowlock.fence.*refused (RL005)' seen
    [ "$(tail -n 1 seen)" = true ]
}

@test "the schema of the playground is that of schema print, without the GRANTs" {
    diff <("$ROWLOCK_TEST_BIN/rowlock" schema print postgresql |
        sed '/^-- GRANTs/,/^-- end of GRANTs/d') "$SITE/html/playground/schema.sql"
}
