#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# A farm of 25 nodes and its jobs in simulated time, up to a year: see tests/simulation/farm.h, and
# `make soak KIND=jobs`.
# ROWLOCK_TEST_EFFORT decides how many histories there are.
exec "$ROWLOCK_TEST_BIN/tests/simulation/simulation" jobs
