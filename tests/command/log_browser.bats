#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The timeline of log --svg in a headless Chromium: on the screen and on paper.
# Runs on: sqlite/native
# Quick: never

load lib
load browser.bash

setup_file() {
    install_technique
    need_browser
    rowlock schema set history all
}
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    sql 'DELETE FROM rowlock_history; DELETE FROM rowlock_run'
}

@test "a big timeline prints without an empty sheet, and fits a narrow window" {
    for name in {1..300}; do rowlock run "lane-$name" -- true; done
    rowlock log --svg big.svg
    browse <<ORDERS
size 1180 800 1
open file://$PWD/big.svg
paper
eval document.documentElement.getBoundingClientRect().height > 5000
size 600 844 1
eval document.querySelector('text.title').getBoundingClientRect().top < 40
eval innerWidth >= document.documentElement.getBoundingClientRect().width
ORDERS
    cat seen
    head -n 1 seen >sheets
    [ "$(json_sql "json_array_length(document)" <sheets)" -ge 4 ]
    [ "$(json_sql "(SELECT min(value) FROM json_each(document))" <sheets)" -gt 2 ]
    [ "$(sed 1d seen | sort -u)" = true ]
}

@test "the longest and the widest names end before the axis, and are whole in their titles" {
    local long=() name
    long+=("$(printf 'W%.0s' {1..200})" "$(printf '\xe5\x82\x99%.0s' {1..80})")
    long+=("$(printf '\xf0\x9f\x94\x92%.0s' {1..60})" "$(printf 'a\x01%.0s' {1..100})" short)
    for name in "${long[@]}"; do rowlock run "$name" -- true; done
    rowlock log --svg names.svg
    cat >orders <<ORDERS
open file://$PWD/names.svg
eval Math.max(...[...document.querySelectorAll('text.name')].map(name => \
name.getBBox().x + name.getBBox().width)) < 188
eval document.querySelectorAll('text.name').length
eval [...document.querySelectorAll('text.name')].map(name => name.lastChild.data.endsWith('…'))
ORDERS
    for name in "${long[@]:0:3}"; do
        echo "eval [...document.querySelectorAll('text.name title')].some(title =>" \
            "title.textContent == '$name')"
    done >>orders
    browse <orders
    cat seen
    [ "$(cat seen)" = $'true\n5\n[true,true,false,true,true]\ntrue\ntrue\ntrue' ]
}
