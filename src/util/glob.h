/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the patterns of fnmatch(). */
#ifndef ROWLOCK_GLOB_H
#define ROWLOCK_GLOB_H

#include <stddef.h>

/* The index after the ']' of the set that begins at `at`; 0: it has none. */
size_t rowlock__glob_end_of_set(const char *pattern, size_t at);
/* The position, from 1, of a '[' without ']'; 0: there is none. */
size_t rowlock__glob_mistake(const char *pattern);

#endif
