#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every COMMIT and ROLLBACK in the procedures of MariaDB and MySQL says AND NO CHAIN NO RELEASE, so
# that the variable completion_type cannot change it.
cd "$(dirname "$0")/../.." || exit 125
. tests/lib/tap.sh
all_say_it() { ! grep -rnE '^[^-]*\b(COMMIT|ROLLBACK)( WORK)?;' sql/mariadb sql/mysql; }
check p11_no_procedure_ends_a_transaction_as_completion_type_says all_say_it
finish_tap
