/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing array of rows of one size, with copies of their texts: the lists of the public API and
 * of the command. A caller adds rows without looking at failures, and asks once, at the end, by
 * rowlock__rows_complete.
 */
#ifndef ROWLOCK_UTIL_ROWS_H
#define ROWLOCK_UTIL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rowlock.h"

/* Other files read `row`, `n` and `failed`; only the functions below change the members, except
   `size`. */
struct rowlock_rows {
    size_t size;                     /* of one row in bytes; the only member to initialize */
    void *row;                       /* the array of all rows */
    size_t n, room;                  /* rows in it, and rows for which it has memory */
    struct rowlock_rows_text *texts; /* the copies, as a chain */
    bool failed;                     /* out of memory: rows or texts are missing */
};

/* A new row at the end, zeroed; NULL: out of memory. Valid until the next call, which may move the
   rows. */
void *rowlock__rows_add(struct rowlock_rows *rows);

/* Row `i`, which exists. */
const void *rowlock__rows_at(const struct rowlock_rows *rows, size_t i);

/* A terminated copy with a fixed address, valid as long as the rows; "" if out of memory. */
const char *rowlock__rows_copy(struct rowlock_rows *rows, const char *bytes, size_t length);

/* The same of a terminated text; "" takes no memory. */
const char *rowlock__rows_keep(struct rowlock_rows *rows, const char *text);

/* By qsort(), which may change the order of equal rows. */
void rowlock__rows_sort(struct rowlock_rows *rows, int (*order)(const void *, const void *));

/* After the rows were gathered: `code`, or ENOMEM if rows or texts are missing. */
int rowlock__rows_complete(const struct rowlock_rows *rows, int code, struct rowlock_error *error);

/* Frees the rows and their texts; `rows` is empty then and can be filled again. `failed` stays. */
void rowlock__rows_clear(struct rowlock_rows *rows);

/* Makes room for one more item in an array of `n` items of `size` bytes, which has memory for
   `*room`; at first NULL, 0, 0. Returns the array, which may have moved; NULL: out of memory, and
   it is unchanged. */
void *rowlock__grown(void *array, size_t n, size_t *room, size_t size);

/* For sorting rows: -1, 0 or 1 as `a` is less than, equal to or greater than `b`. */
int rowlock__order(int64_t a, int64_t b);

#endif
