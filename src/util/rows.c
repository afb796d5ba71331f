/* SPDX-License-Identifier: Apache-2.0 */
/* A growing array of rows of one size, with copies of their texts. */
#include "util/rows.h"

#include <stdlib.h>
#include <string.h>

#include "util/error.h"

struct rowlock_rows_text {
    struct rowlock_rows_text *next;
    char bytes[];
};

void *rowlock__grown(void *array, size_t n, size_t *room, size_t size)
{
    size_t larger = *room ? 2 * *room : 16;

    if (n < *room)
        return array;
    array = realloc(array, larger * size);
    if (array)
        *room = larger;
    return array;
}

void *rowlock__rows_add(struct rowlock_rows *rows)
{
    void *row = rowlock__grown(rows->row, rows->n, &rows->room, rows->size);

    rows->failed |= !row;
    if (!row)
        return NULL;
    rows->row = row;
    return memset((char *)rows->row + rows->n++ * rows->size, 0, rows->size);
}

const void *rowlock__rows_at(const struct rowlock_rows *rows, size_t i)
{
    return (const char *)rows->row + i * rows->size;
}

const char *rowlock__rows_copy(struct rowlock_rows *rows, const char *bytes, size_t length)
{
    struct rowlock_rows_text *text = malloc(sizeof *text + length + 1);

    rows->failed |= !text;
    if (!text)
        return "";
    memcpy(text->bytes, bytes, length);
    text->bytes[length] = '\0';
    text->next = rows->texts;
    rows->texts = text;
    return text->bytes;
}

const char *rowlock__rows_keep(struct rowlock_rows *rows, const char *text)
{
    return *text ? rowlock__rows_copy(rows, text, strlen(text)) : "";
}

void rowlock__rows_sort(struct rowlock_rows *rows, int (*order)(const void *, const void *))
{
    if (rows->n > 1) /* qsort must not get NULL */
        qsort(rows->row, rows->n, rows->size, order);
}

int rowlock__rows_complete(const struct rowlock_rows *rows, int code, struct rowlock_error *error)
{
    return !code && rows->failed ? rowlock__no_memory(error) : code;
}

void rowlock__rows_clear(struct rowlock_rows *rows)
{
    while (rows->texts) {
        struct rowlock_rows_text *next = rows->texts->next;

        free(rows->texts);
        rows->texts = next;
    }
    free(rows->row);
    rows->row = NULL;
    rows->n = rows->room = 0;
}

int rowlock__order(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}
