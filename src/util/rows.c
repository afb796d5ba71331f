/* SPDX-License-Identifier: Apache-2.0 */
#include "util/rows.h"

#include <stdlib.h>
#include <string.h>

void *rowlock__rows_add(struct rowlock_rows *rows)
{
    if (rows->n == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 16;
        void *more = realloc(rows->row, room * rows->size);

        rows->failed |= !more;
        if (!more)
            return NULL;
        rows->row = more;
        rows->room = room;
    }
    return memset((char *)rows->row + rows->n++ * rows->size, 0, rows->size);
}
