#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
# Quick: never
# Rest: never
#
# The model of the protocol: the promises hold in every interleaving of small populations, and each
# mutation is detected. The larger populations: `make model`.
cd "$(dirname "$0")/../.." || exit 125
TMPDIR=${ROWLOCK_TEST_TEMP:-/tmp} model/run.sh --quick | awk '
    { good = /^as-expected /; bad += !good
      print (good ? "ok " : "not ok ") NR " - " $2
      if (!good) print "# " $0 }
    END { print "1.." NR; exit bad || NR == 0 }'
