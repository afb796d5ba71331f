/* SPDX-License-Identifier: Apache-2.0 */
/* A growing array of rows of one size, with copies of their texts. */
#ifndef ROWLOCK_UTIL_ROWS_H
#define ROWLOCK_UTIL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rowlock.h"

struct rowlock_rows {
    size_t size; /* of one row in bytes; the only member to initialize */
    void *row;   /* the array of all rows */
    size_t n, room;
    struct rowlock_rows_text *texts;
    bool failed; /* out of memory: rows or texts are missing */
};

/* A new row, zeroed, or NULL. Valid until the next call, which may move the rows. */
void *rowlock__rows_add(struct rowlock_rows *rows);

/* Row `i`, which exists. */
const void *rowlock__rows_at(const struct rowlock_rows *rows, size_t i);

/* A terminated copy with a fixed address, valid as long as the rows; "" if out of memory. */
const char *rowlock__rows_copy(struct rowlock_rows *rows, const char *bytes, size_t length);

/* The same of a terminated text; "" takes no memory. */
const char *rowlock__rows_keep(struct rowlock_rows *rows, const char *text);

void rowlock__rows_sort(struct rowlock_rows *rows, int (*order)(const void *, const void *));

/* After the rows were gathered: `code`, or ENOMEM if rows or texts are missing. */
int rowlock__rows_complete(const struct rowlock_rows *rows, int code, struct rowlock_error *error);

/* Frees the rows and their texts; `rows` is empty then. */
void rowlock__rows_clear(struct rowlock_rows *rows);

/* Makes room for one more item in an array of `n` items of `size` bytes. Returns the array, which
   may have moved; NULL: out of memory, and it is unchanged. */
void *rowlock__grown(void *array, size_t n, size_t *room, size_t size);

/* For sorting rows: -1, 0 or 1 as `a` is less than, equal to or greater than `b`. */
int rowlock__order(int64_t a, int64_t b);

#endif
