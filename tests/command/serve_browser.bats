#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# serve in a headless Chromium: an empty console, refresh in place, keyboard, narrow screens.
# Runs on: sqlite/native
# Quick: never

load lib
load serve.bash
load browser.bash

setup_file() {
    install_technique
    need_serve
    need_browser
}

texts() { # TARGET TEXT...: the page shows these texts
    local text
    echo "open http://$address$1"
    echo "until document.querySelector('main h1')"
    for text in "${@:2}"; do echo "eval main.textContent.includes('$text') || '$text'"; done
}
@test "every page of an empty farm explains how to begin, and a wrong address is named" {
    start_serve
    {
        texts / 'No lock is held' 'No problems' 'No caller waits' 'rowlock job in a crontab'
        texts /locks 'No lock is held or waited for'
        texts /lock?name=free 'is free' 'No ended lease is kept'
        texts /jobs 'rowlock job in a crontab'
        texts /job?name=x 'No node has asked for this job'
        texts /subjects 'No subject was refreshed yet'
        texts /history 'No ended lease is kept'
        texts /lock 'There is no such page'
    } >orders
    browse <orders
    [ "$(grep -c true seen)" = "$(grep -c ^eval orders)" ]
    if grep -v true seen; then return 1; fi
}

@test "every page, in light and dark, wide and narrow: no error, no other host, nothing too wide" {
    rowlock acquire --ttl 1h '<script>alert(1)</script>' --note '"><img src=x onerror=alert(1)>'
    run rowlock job '<b>job</b>' --every 50w -- sh -c 'echo "<script>alert(2)</script>"; exit 7'
    run rowlock refresh '<i>subject</i>' --max-age 1h -- sh -c 'echo "<s>" >&2; exit 7'
    start_serve
    for theme in light dark; do
        for size in '1180 800 1' '390 844 1'; do
            echo "theme $theme"
            echo "size $size"
            for page in / /locks "/lock?name=$(encoded '<script>alert(1)</script>')" /jobs \
                /history "/job?name=$(encoded '<b>job</b>')" /subjects; do
                echo "open http://$address$page"
                echo "until document.querySelector('main h1')"
                echo "eval document.documentElement.scrollWidth <= innerWidth"
                echo "eval getComputedStyle(document.querySelector('h1')).fontSize == '24px'"
                echo "eval performance.getEntriesByType('resource').every(r => \
                    r.name.startsWith(location.origin))"
            done
        done
    done >orders
    browse <orders
    [ "$(grep -c true seen)" = 84 ]
    if grep -v true seen; then return 1; fi
}

@test "the page refreshes in place: focus, open output and selection stay" {
    rowlock acquire --ttl 1h one
    run rowlock job broken --every 50w -- sh -c 'echo output; exit 7'
    start_serve
    mkfifo orders
    browse <orders 3>&- &
    local browser=$!
    exec 5>orders
    cat >&5 <<ORDERS
open http://$address/
until document.querySelector('main a[href="/lock?name=one"]')
eval (document.querySelector('main a[href="/lock?name=one"]').focus(), \
window.before = document.querySelector('.fresh').textContent, 1)
until document.querySelector('.fresh').textContent !== window.before
eval document.activeElement.getAttribute('href')
ORDERS
    rowlock acquire --ttl 1h later
    cat >&5 <<ORDERS
until document.querySelector('main').textContent.includes('later')
eval document.activeElement.getAttribute('href')
open http://$address/job?name=broken
until document.querySelector('details')
eval (document.querySelector('details').open = true, \
window.before = document.querySelector('.fresh').textContent, 1)
until document.querySelector('.fresh').textContent !== window.before
eval document.querySelector('details').open
eval (getSelection().selectAllChildren(document.querySelector('h1')), \
window.before = document.querySelector('.fresh').textContent, 1)
eval new Promise(done => setTimeout(done, 3000))
eval document.querySelector('.fresh').textContent === window.before
ORDERS
    exec 5>&-
    wait "$browser"
    cat seen
    [ "$(sed -n 2p seen)" = '"/lock?name=one"' ]
    [ "$(sed -n 3p seen)" = '"/lock?name=one"' ]
    [ "$(sed -n 5p seen)" = true ]
    [ "$(tail -n 1 seen)" = true ]
}

@test "by keyboard: skip link, pages, a lock and the way back, with a focus that is visible" {
    rowlock acquire --ttl 1h two
    start_serve
    browse <<ORDERS
open http://$address/
until document.querySelector('main a')
key Tab
eval document.activeElement.className
eval document.activeElement.getBoundingClientRect().top >= 0
key Tab
key Tab
eval document.activeElement.textContent
eval getComputedStyle(document.activeElement).outlineStyle
key Tab
key Enter
until document.querySelector('main h1').textContent === 'Locks'
eval [location.pathname, document.activeElement.id].join()
key /
eval document.activeElement.id
eval document.querySelector('main a[href="/lock?name=two"]').focus()
key Enter
until document.querySelector('main h1').textContent === 'Lock two'
eval document.title
eval (window.history.back(), 1)
until document.querySelector('main h1').textContent === 'Locks'
eval document.querySelector('nav a[aria-current]').textContent
ORDERS
    cat seen
    [ "$(sed -n 1p seen)" = '"skip"' ]
    [ "$(sed -n 2p seen)" = true ]
    [ "$(sed -n 3p seen)" = '"Overview"' ]
    [ "$(sed -n 4p seen)" = '"solid"' ]
    [ "$(sed -n 5p seen)" = '"/locks,main"' ]
    [ "$(sed -n 6p seen)" = '"q"' ]
    [ "$(sed -n 8p seen)" = '"two - Lock - rowlock"' ]
    [ "$(sed -n 10p seen)" = '"Locks"' ]
}

@test "without JavaScript the page reports it, and names the command and the JSON" {
    start_serve
    browse <<ORDERS
script off
open http://$address/locks
shoot page.png
ORDERS
    [ -s page.png ]
    get /locks
    grep -q '<noscript>.*needs JavaScript.*rowlock ls.*/api/overview.json.*</noscript>' body
}

@test "every page of a busy farm shows what its documents have" {
    rowlock schema set history all
    rowlock acquire --ttl 1h --limit 3 seats
    rowlock acquire --ttl 1h queued --note 'a note'
    start_rowlock acquire --ttl 1h -w 1h --note 'in a hurry' queued
    rowlock acquire --ttl 1h stopping
    rowlock break stopping
    rowlock acquire --ttl 1h gone --note 'a past note'
    rowlock break --now gone
    rowlock job quiet --every 50w -- true
    rowlock hold job:quiet --note 'the disk is full'
    run rowlock job noisy --every 50w -- sh -c 'echo first; echo last; exit 7'
    rowlock refresh prices --max-age 1h -- true
    start_cycle left right
    start_serve
    until_true shows $overview '.totals.cycles == 1 and any(.queues[]; .name == "queued")'
    {
        texts / 'told to stop' 'has failed for' 'Longest wait' '1 of 3 permits' \
            'the holder of each waits for another of them' 'in a cycle, longest'
        texts /locks '1 of 3 permits' 'a note' 'stopping'
        texts /lock?name=queued 'a note' 'in a hurry' '#1' 'Holders 1' 'Waiters 1'
        texts /lock?name=job%3Aquiet 'This is the lock of the job quiet'
        texts /lock?name=gone 'broken by' 'a past note' 'History 1'
        texts /job?name=noisy 'exit 7' 'failing' 'first' 'job:noisy'
        texts /job?name=quiet 'paused by' 'the disk is full' 'printed nothing'
        texts /subjects prices COMPLETE
        texts /history gone broken 'job:noisy'
        echo "eval document.querySelector('img.timeline').src.includes('/timeline.svg?name=&v=')"
    } >orders
    browse <orders
    [ "$(grep -c true seen)" = "$(grep -c ^eval orders)" ]
    if grep -v true seen; then return 1; fi
}

press() { local i; for ((i = 0; i < $2; i++)); do echo "key $1"; done; } # KEY TIMES
@test "an operator logs in and acts by keyboard only; a viewer gets no buttons" {
    rowlock acquire --ttl 1h '<b>act</b>'
    run rowlock job '<i>job</i>' --every 50w -- true
    write_users
    start_serve --allow-actions --users users
    local url job
    url="http://$address/lock?name=$(encoded '<b>act</b>')"
    job="http://$address/job?name=$(encoded '<i>job</i>')"
    {
        printf '%s\n' 'size 1180 800 1' "open $url" "until document.querySelector('main h1')" \
            "until document.querySelector('#session button')" \
            "eval !document.querySelector('main button')"
        press Tab 8
        printf '%s\n' "eval document.activeElement.textContent === 'Log in'" 'key Enter' \
            "until document.querySelector('dialog[open]')" 'type ann' 'key Tab' 'type wrong' \
            'key Enter' "until dialog.textContent.includes('password is wrong')" 'key Escape' \
            "until !document.querySelector('dialog[open]')" 'key Enter' \
            "until document.querySelector('dialog[open]')" 'type ann' 'key Tab' 'type secret' \
            'key Enter' "until document.querySelector('td button')" \
            "until document.activeElement === main" 'key Tab' \
            "eval document.activeElement.textContent === 'Hold'" 'key Tab' \
            "eval document.activeElement.textContent === 'Break'" 'key Enter' \
            "until document.querySelector('dialog[open]')" \
            "eval dialog.textContent.includes('Break the lease of <b>act</b>')" \
            'key Space' 'key Tab' 'key Enter' "until main.textContent.includes('by ann@')" \
            "eval said.textContent === '<b>act</b> was broken.'" \
            "until main.textContent.includes('The name is free')"
        # the same in the narrow and dark page of a job: pause and resume
        printf '%s\n' 'theme dark' 'size 390 844 1' "open $job" \
            "until document.querySelector('.actions button')" \
            "eval document.documentElement.scrollWidth <= innerWidth" \
            "eval (document.querySelector('.actions button').focus(), true)" 'key Tab' \
            "eval document.activeElement.textContent === 'Pause'" 'key Enter' \
            "until document.querySelector('dialog[open]')" \
            "eval dialog.getBoundingClientRect().right <= innerWidth" 'key Enter' \
            "eval document.querySelector('dialog[open] input:invalid') !== null" \
            'type <img src=x onerror=alert(1)>' 'key Enter' \
            "until main.textContent.includes('paused by')" \
            "eval main.textContent.includes('<img src=x onerror=alert(1)>')" \
            "until document.querySelector('[data-act=resume]')" \
            "eval (document.querySelector('[data-act=resume]').focus(), true)" \
            'key Enter' "until document.querySelector('dialog[open]')" 'key Enter' \
            "until main.textContent.includes('fine')" \
            "open $job" "until document.querySelector('main button')" \
            "eval localStorage.token.length === 64 && (localStorage.removeItem('token'), true)" \
            "open $job" "until document.querySelector('#session span')" \
            "eval document.querySelector('#session button').textContent === 'Log in'" \
            "eval !document.querySelector('main button')" \
            "eval (document.querySelector('#session button').focus(), true)" 'key Enter' \
            "until document.querySelector('dialog[open]')" 'type ann' 'key Tab' 'type secret' \
            'key Enter' "until document.querySelector('main button')" \
            "eval (document.querySelector('#session button').focus(), true)" 'key Enter' \
            "until !document.querySelector('main button')" \
            "until said.textContent === 'Logged out.'" 'key Tab' \
            "eval (document.querySelector('#session button').focus(), true)" 'key Enter' \
            "until document.querySelector('dialog[open]')" 'type vic' 'key Tab' 'type look' \
            'key Enter' "until document.querySelector('#session span')" \
            "eval !document.querySelector('main button')"
    } >orders
    browse <orders || grep -v '^console: Failed to load resource.*401' seen | grep -q console &&
        return 1
    cat seen
    [ "$(grep -c true seen)" = "$(grep -c ^eval orders)" ]
    rowlock --json log | jq -e 'any(.name == "job:<i>job</i>" and .command == "hold by ann" and
        (.broken_by | startswith("ann@")))'
}

@test "--require-login: the page asks for a login, and then shows the farm" {
    rowlock acquire --ttl 1h shown
    write_users
    start_serve --require-login --users users
    {
        printf '%s\n' "open http://$address/" "until document.querySelector('main button')" \
            "eval !main.textContent.includes('shown')" \
            "eval (document.querySelector('main button').focus(), true)" 'key Enter' \
            "until document.querySelector('dialog[open]')" 'type vic' 'key Tab' 'type look' \
            'key Enter' "until main.textContent.includes('shown')" \
            "eval !document.querySelector('main button')"
    } >orders
    browse <orders || grep -v '^console: Failed to load resource.*401' seen | grep -q console &&
        return 1
    [ "$(grep -c true seen)" = "$(grep -c ^eval orders)" ]
}

@test "the filter narrows the list while it is typed" {
    rowlock acquire --ttl 1h apples
    rowlock acquire --ttl 1h pears
    start_serve
    browse <<ORDERS
open http://$address/locks
until document.querySelector('main').textContent.includes('pears')
eval (q.value = 'APPL', q.dispatchEvent(new Event('input')), 1)
until !document.querySelector('main').textContent.includes('pears')
eval document.querySelector('main').textContent.includes('apples')
eval location.search
ORDERS
    [ "$(sed -n 2p seen)" = true ]
    [ "$(sed -n 3p seen)" = '"?q=APPL"' ]
}

@test "when serve ends, the page reports it, and keeps its state" {
    rowlock acquire --ttl 1h four
    start_serve
    mkfifo orders
    browse <orders 3>&- &
    local browser=$!
    exec 5>orders
    echo "open http://$address/" >&5
    echo "until document.querySelector('main h1')" >&5
    echo "eval 1" >&5
    until_true has_text seen
    stop_serve
    cat >&5 <<ORDERS
until !document.getElementById('away').hidden
eval document.querySelector('main').textContent.includes('four')
ORDERS
    exec 5>&-
    wait "$browser" || true # the failed requests are on the console
    [ "$(sed -n 2p seen)" = true ]
}

@test "a banner about old data comes and goes, and the focus stays where it is" {
    rowlock acquire --ttl 1h five
    start_serve
    mkfifo orders
    browse <orders 3>&- &
    local browser=$!
    exec 5>orders
    cat >&5 <<ORDERS
open http://$address/
until document.querySelector('main a[href="/lock?name=five"]')
eval (document.querySelector('main a[href="/lock?name=five"]').focus(), 1)
ORDERS
    until_true has_text seen
    put_away meta
    echo "until document.getElementById('old')" >&5
    echo "eval document.activeElement.getAttribute('href')" >&5
    until_true grep -q five seen
    put_back meta
    echo "until !document.getElementById('old')" >&5
    echo "eval document.activeElement.getAttribute('href')" >&5
    exec 5>&-
    wait "$browser" || true # the failed requests are on the console
    [ "$(grep -c '"/lock?name=five"' seen)" = 2 ]
}

@test "bytes that are not UTF-8, and control characters, are shown" {
    rowlock acquire --ttl 1h odd
    sql "UPDATE rowlock_lease SET note = CAST(x'3cff80c31b' AS TEXT), host = CAST(x'ff3e' AS TEXT)
         WHERE name = 'odd'"
    start_serve
    get /api/ls.json?name=odd
    perl -MEncode -0777 -ne 'Encode::decode("UTF-8", $_, Encode::FB_CROAK)' body
    browse <<ORDERS
open http://$address/lock?name=odd
until document.querySelector('main h1')
eval main.textContent.includes('<\ufffd') && main.textContent.includes('\\\\x1b')
ORDERS
    [ "$(cat seen)" = true ]
}
