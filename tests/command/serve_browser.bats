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
eval document.querySelector('main a[href="/lock?name=one"]').focus()
eval (window.before = document.querySelector('main'), 1)
until document.querySelector('main') !== window.before
eval document.activeElement.getAttribute('href')
ORDERS
    rowlock acquire --ttl 1h later
    cat >&5 <<ORDERS
until document.querySelector('main').textContent.includes('later')
open http://$address/job?name=broken
eval (document.querySelector('details').open = true, window.before = main, 1)
until document.querySelector('main') !== window.before
eval document.querySelector('details').open
eval (getSelection().selectAllChildren(document.querySelector('h1')), \
window.before = document.querySelector('main'), 1)
eval new Promise(done => setTimeout(done, 3000))
eval document.querySelector('main') === window.before
ORDERS
    exec 5>&-
    wait "$browser"
    cat seen
    [ "$(sed -n 3p seen)" = '"/lock?name=one"' ]
    [ "$(sed -n 5p seen)" = true ]
    [ "$(tail -n 1 seen)" = true ]
}

@test "by keyboard: the first key reaches the link to the content, and the focus is visible" {
    rowlock acquire --ttl 1h two
    start_serve
    browse <<ORDERS
open http://$address/
key Tab
eval document.activeElement.className
eval document.activeElement.getBoundingClientRect().top >= 0
key Tab
key Tab
eval document.activeElement.textContent
eval getComputedStyle(document.activeElement).outlineStyle
ORDERS
    [ "$(sed -n 1p seen)" = '"skip"' ]
    [ "$(sed -n 2p seen)" = true ]
    [ "$(sed -n 3p seen)" = '"Overview"' ]
    [ "$(sed -n 4p seen)" = '"solid"' ]
}

@test "without JavaScript the page is complete, and the filter that needs it is hidden" {
    rowlock acquire --ttl 1h three
    start_serve
    browse <<ORDERS
script off
open http://$address/locks
shoot page.png
ORDERS
    [ -s page.png ]
    shows /locks 'id="filter" hidden'
    shows /locks 'name=three'
}

@test "the filter narrows the list while it is typed" {
    rowlock acquire --ttl 1h apples
    rowlock acquire --ttl 1h pears
    start_serve
    browse <<ORDERS
open http://$address/locks
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

@test "bytes that are not UTF-8 are shown as escapes" {
    rowlock acquire --ttl 1h odd
    sql "UPDATE rowlock_lease SET note = CAST(x'3cff80c3' AS TEXT), host = CAST(x'ff3e' AS TEXT)
         WHERE name = 'odd'"
    start_serve
    shows /lock?name=odd '&lt;\xff\x80\xc3'
    get /api/ls.json?name=odd
    perl -MEncode -0777 -ne 'Encode::decode("UTF-8", $_, Encode::FB_CROAK)' body
    browse <<ORDERS
open http://$address/lock?name=odd
eval document.querySelector('main').textContent.includes('\\\\xff\\\\x80')
ORDERS
    [ "$(cat seen)" = true ]
}
