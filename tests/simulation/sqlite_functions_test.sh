#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# Histories on a simulated database with functions: session locks, and turns. See
# tests/simulation/functions.c, and `make soak KIND=functions`.
# ROWLOCK_TEST_EFFORT decides how many histories there are.
exec "$ROWLOCK_TEST_BIN/tests/simulation/simulation" functions
