#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every COMMIT and ROLLBACK in the procedures of MariaDB and MySQL says AND NO CHAIN NO RELEASE, so
# that the variable completion_type cannot change it.
cd "$(dirname "$0")/../.." || exit 1
echo 1..1
bare=$(grep -rnE '^[^-]*\b(COMMIT|ROLLBACK)( WORK)?;' sql/mariadb sql/mysql)
if [ -z "$bare" ]; then
    echo "ok 1 - p11_no_procedure_ends_a_transaction_as_completion_type_says"
else
    printf '%s\n' "$bare" | sed 's/^/# /'
    echo "not ok 1 - p11_no_procedure_ends_a_transaction_as_completion_type_says"
    exit 1
fi
