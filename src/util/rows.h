/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one kind, gathered from a result, and copies of their texts. */
#ifndef ROWLOCK_UTIL_ROWS_H
#define ROWLOCK_UTIL_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct rowlock_rows {
    size_t size; /* of a row, in bytes: the one member to begin with */
    void *row;   /* of all rows */
    size_t n, room;
    struct rowlock_rows_text *texts;
    bool failed; /* memory was short: rows or texts are missing */
};

/* A new row, zeroed, or NULL; until the next is added, for the rows may move. */
void *rowlock__rows_add(struct rowlock_rows *rows);

/* A terminated copy, which does not move and lives as long as the rows; "" without memory. */
const char *rowlock__rows_copy(struct rowlock_rows *rows, const char *bytes, size_t length);

void rowlock__rows_clear(struct rowlock_rows *rows);

#endif
