#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# Histories of a farm in simulated time: see tests/simulation/sim.h, and `make soak`.
# ROWLOCK_TEST_EFFORT decides how many histories there are.
exec "$ROWLOCK_TEST_BIN/tests/simulation/simulation"
