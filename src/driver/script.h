/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a script for client libraries that send one statement at a time, and for emulate/. */
#ifndef ROWLOCK_SCRIPT_H
#define ROWLOCK_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds the next statement from `*at`, without comments before it and without its semicolon, and
 * moves `*at` behind it. A semicolon in quotes or in a comment does not end a statement. The result
 * refers to the script's text. false: the script has no further one.
 */
bool rowlock__script_next(const char **at, const char **statement, size_t *length);

#endif
