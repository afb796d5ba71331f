/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_durability: settings of the server that may lose commits. */
#include <stdlib.h>

#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

struct warning {
    char *text;
    bool lost; /* out of memory for an existing warning */
};

static void warning_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct warning *warning = data;

    rowlock__take_text(&warning->text, columns, n);
    warning->lost = n > 0 && columns[0].type != ROWLOCK_NULL && !warning->text;
}

int rowlock_durability(struct rowlock_connection *connection, char **out,
                       struct rowlock_error *error)
{
    struct warning warning = {0};
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !out)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "out must not be NULL");
    if (!code)
        code = rowlock__ask(connection, ROWLOCK_SQL_DURABILITY, NULL, warning_row, &warning, error);
    if (!code && warning.lost)
        code = rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    if (code)
        free(warning.text);
    else
        *out = warning.text;
    return code;
}
