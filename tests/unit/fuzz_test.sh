#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets over their corpus, so that every input that once found a bug is tested
# again.
cd "$(dirname "$0")/../.." || exit 125
. tests/lib/tap.sh
for program in "$ROWLOCK_TEST_BIN"/fuzz/*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    target=$(basename "$program")
    check "the corpus of $target" "$program" "fuzz/corpus/$target"/*
done
finish_tap
