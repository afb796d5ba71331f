#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# Histories of a farm in simulated time: see tests/simulation/sim.h, and `make soak`.
exec "$ROWLOCK_TEST_BIN/tests/simulation/simulation"
