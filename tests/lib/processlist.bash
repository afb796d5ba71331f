# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The view of the sessions, as one text for MariaDB and MySQL. MySQL's view in information_schema
# fails while any session runs a statement with a character of four bytes (error 3854). In C it is
# T_PROCESSLIST of tests/lib/test.h.
# shellcheck disable=SC2034
processlist='/*!80022 performance_schema.*//*M! information_schema.*/processlist'
