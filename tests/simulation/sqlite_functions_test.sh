#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# Histories on a simulated database with functions: session locks, turns, and group commit by
# threads of one process. See tests/simulation/functions.c, and `make soak KIND=functions`.
# ROWLOCK_TEST_EFFORT decides how many histories there are.
exec "$ROWLOCK_TEST_BIN/tests/simulation/simulation" functions
