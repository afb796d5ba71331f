#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# Histories of the plain dialects on a simulated database that has tables only: see
# tests/simulation/table.h, and `make soak KIND=tables`.
# ROWLOCK_TEST_EFFORT decides how many histories there are.
exec "$ROWLOCK_TEST_BIN/tests/simulation/simulation" tables
