#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# Crowds of waiters for one name, by the library's own code in simulated time: see
# tests/simulation/crowd.c. ROWLOCK_TEST_EFFORT decides how many seeds there are.
exec "$ROWLOCK_TEST_BIN/tests/simulation/simulation" crowd
