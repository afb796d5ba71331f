/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of fnmatch(), flags 0: *, ?, [...], \ before any character. */
#ifndef ROWLOCK_GLOB_H
#define ROWLOCK_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "rowlock.h"

/* The position, from 1, of a '[' without ']'; 0: there is none. */
size_t rowlock__glob_mistake(const char *glob);
/* Fails with EINVAL, and names the position, if the pattern has such a mistake. */
int rowlock__glob_check(const char *glob, struct rowlock_error *error);

/* A pattern of LIKE, with the escape character '!', that matches at least the same names: '?' and a
   set become '%', because a database may count bytes. `*exact`: it matches no others; otherwise
   fnmatch() must decide. malloc'd; NULL: out of memory. */
char *rowlock__glob_to_like(const char *glob, bool *exact);

#endif
