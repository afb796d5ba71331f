/* SPDX-License-Identifier: Apache-2.0 */
/* Translates the library's error codes into the exit statuses that scripts rely on. */
#include "command/exit_status.h"

#include <stdbool.h>
#include <string.h>

#include "command/output/output.h"
#include "command/url_lookup.h"

static const struct {
    int code, status;
} statuses[] = {
    {ROWLOCK_OK, STATUS_OK},
    {ROWLOCK_EINVAL, STATUS_USAGE},
    {ROWLOCK_EMODE, STATUS_USAGE},
    {ROWLOCK_ELIMIT, STATUS_USAGE},
    {ROWLOCK_EBUSY, STATUS_NOT_ACQUIRED},
    {ROWLOCK_ETIMEDOUT, STATUS_NOT_ACQUIRED},
    {ROWLOCK_ELEFTOVER, STATUS_NOT_ACQUIRED},
    {ROWLOCK_EROLLEDBACK, STATUS_NOT_ACQUIRED},
    {ROWLOCK_EABORTED, STATUS_NOT_ACQUIRED},
    {ROWLOCK_ESCHEMA, STATUS_UNAVAILABLE},
    {ROWLOCK_EDENIED, STATUS_UNAVAILABLE},
    {ROWLOCK_ECONN, STATUS_UNAVAILABLE},
    {ROWLOCK_EUNKNOWN, STATUS_UNAVAILABLE},
    {ROWLOCK_EDRIVER, STATUS_UNAVAILABLE},
    {ROWLOCK_ESERVER, STATUS_UNAVAILABLE},
    {ROWLOCK_ELOST, STATUS_LOST},
};

int exit_status(int code)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].code == code)
            return statuses[i].status;
    return STATUS_FAILED;
}

int is_outage(int code)
{
    return code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT;
}

const char *outage_text(int code)
{
    return is_outage(code) ? "the database does not answer" : "the database cannot be used";
}

int report(const struct rowlock_error *error)
{
    const char *text = error->text[0] ? error->text : rowlock_strerror(error->code);
    /* A command that the text advises would use another database without the option. */
    bool advises =
        strncmp(database_asked_for(), "--db,", 5) == 0 && strstr(text, ": rowlock schema ") != NULL;
    int status = exit_status(error->code);

    if (status == STATUS_UNAVAILABLE && *database_asked_for())
        message("%s%s (database: %s)", text, advises ? ", with this --db" : "",
                database_asked_for());
    else
        message("%s", text);
    return status;
}
