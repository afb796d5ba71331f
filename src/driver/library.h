/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client library (libpq, libmariadb, libsqlite3, libodbc), loaded on the first use of its URL
 * scheme, so that a program that uses SQLite needs none of the others.
 *
 * A program that linked the library itself uses the same copy: symbols in the process have priority
 * over the file.
 */
#ifndef ROWLOCK_LIBRARY_H
#define ROWLOCK_LIBRARY_H

#include <pthread.h>
#include <stdio.h>

#include "rowlock.h"

/* Made from a list of functions: a member of the table, and its name. */
#define ROWLOCK_LIBRARY_MEMBER(function) __typeof__(function) *function;
#define ROWLOCK_LIBRARY_NAME(function) #function,

/* One static object for each library; rowlock__load writes the members from `loaded` on and the
   table, under `lock`. A loaded library stays until the process ends. */
struct rowlock_library {
    const char *file;         /* "libpq.so.5" */
    const char *other_file;   /* tried if there is no `file`; may be NULL */
    const char *package;      /* "libpq5": for the message */
    const char *const *names; /* of the functions; ends with NULL */
    void *table;              /* a struct of pointers to them, in that order */
    pthread_mutex_t lock;
    int loaded;
    const char *opened; /* one of the two files */
};

/* Fills the table once; any thread. EDRIVER if the library or a symbol of it is missing: a later
   call tries again. */
int rowlock__load(struct rowlock_library *library, struct rowlock_error *error);

/* The path of a loaded library, or its file name if the system does not report the path; not to be
   freed. */
const char *rowlock__library_path(const struct rowlock_library *library);

/* Loads it, and prints a line with its path, or with the package to install. */
void rowlock__describe_library(struct rowlock_library *library, FILE *out);

#endif
