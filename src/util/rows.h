/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one kind that are gathered, as many as come. */
#ifndef ROWLOCK_UTIL_ROWS_H
#define ROWLOCK_UTIL_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct rowlock_rows {
    size_t size; /* of a row, in bytes: the one member to begin with */
    void *row;   /* of all rows; whoever gathers frees it */
    size_t n, room;
    bool failed; /* memory was short: what is there is not all */
};

/* A new row, zeroed, or NULL; until the next is added, for the rows may move. */
void *rowlock__rows_add(struct rowlock_rows *rows);

#endif
