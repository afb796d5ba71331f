# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests that look at pages and pictures in a headless Chromium.

need_browser() {
    command -v chromium >/dev/null || {
        [ -z "${CI:-}" ] || { echo "chromium is missing: install it"; return 1; }
        skip "chromium is missing: install the package chromium"
    }
}
# Orders on standard input; the console must be empty. The answers are in the file seen.
browse() {
    perl "$BATS_TEST_DIRNAME/../lib/browser.pl" chromium >seen || { cat seen; return 1; }
}
