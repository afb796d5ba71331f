/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_examine: the server, the account and the schema, each check a row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"
#include "session/connection.h"
#include "util/error.h"

#define LOOKS 3 /* a pooler may give the same session twice */

struct examination {
    struct rowlock_connection *connection;
    struct rowlock_installed installed;
    struct rowlock_rows findings;
    bool usable;   /* the schema exists and can be read */
    bool complete; /* no part of it is missing */
};

static void add(struct examination *examination, const char *check,
                enum rowlock_finding_status status, const char *finding, const char *advice)
{
    struct rowlock_rows *rows = &examination->findings;
    struct rowlock_finding *row = rowlock__rows_add(rows);

    if (!row)
        return;
    row->check = check;
    row->status = status;
    row->finding = rowlock__rows_copy(rows, finding, strlen(finding));
    row->advice = rowlock__rows_copy(rows, advice, strlen(advice));
}

/* Adds a finding by a text of this library: "what happened; what to do". */
static void add_text(struct examination *examination, const char *check,
                     enum rowlock_finding_status status, char *text)
{
    char *advice = strrchr(text, ';');

    if (advice)
        *advice++ = '\0';
    add(examination, check, status, text, advice ? advice + strspn(advice, " ") : "");
}

static void finding_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_finding *row = n < 4 ? NULL : rowlock__rows_add(rows);

    if (!row)
        return;
    row->check = rowlock__rows_text(rows, &columns[0]);
    row->status = (enum rowlock_finding_status)rowlock__value_number(&columns[1]);
    row->finding = rowlock__rows_text(rows, &columns[2]);
    row->advice = rowlock__rows_text(rows, &columns[3]);
}

static int ask(struct examination *examination, enum rowlock_statement_id id,
               const struct rowlock_value *values, struct rowlock_error *error)
{
    return rowlock__ask(examination->connection, id, values, finding_row, &examination->findings,
                        error);
}

/* ---- the server ------------------------------------------------------------------------------ */

static int64_t backend(struct rowlock_connection *connection)
{
    int64_t number = 0;

    rowlock__ask(connection, ROWLOCK_SQL_BACKEND, NULL, rowlock__take_number, &number, NULL);
    return number;
}

static int examine_library(struct examination *examination, struct rowlock_error *error)
{
    const struct rowlock_driver *driver = examination->connection->transport;
    char library[80] = "", text[300];

    (void)error;
    if (driver->library)
        driver->library(library, sizeof library);
    snprintf(text, sizeof text, "%s, rowlock %.*s", *library ? library : driver->name,
             (int)strcspn(rowlock_version(), " "), rowlock_version());
    add(examination, "driver", ROWLOCK_SOUND, text, "");
    return ROWLOCK_OK;
}

/* Also whether transactions of one client get different sessions of the server, or two clients
   share one: a pooler in transaction mode. */
static int examine_server(struct examination *examination, struct rowlock_error *error)
{
    struct rowlock_connection *connection = examination->connection, *second = NULL;
    int64_t client = connection->driver->backend_id(connection->link), first;
    struct rowlock_value values[2] = {rowlock__int_value(client), {.type = ROWLOCK_NULL}};
    bool moved = false;

    if (!rowlock__sql(connection, ROWLOCK_SQL_EXAMINE)) {
        add(examination, "server", ROWLOCK_SOUND, connection->dialect->name, "");
        return ROWLOCK_OK;
    }
    first = backend(connection);
    if (first != client && !rowlock__second(connection, &second, NULL) && second)
        for (int i = 0; i < LOOKS && !moved; i++)
            moved = backend(second) == first || backend(connection) != first;
    values[1] = rowlock__int_value(moved);
    return ask(examination, ROWLOCK_SQL_EXAMINE, values, error);
}

static int examine_durability(struct examination *examination, struct rowlock_error *error)
{
    char *risk = NULL;
    int code = rowlock_durability(examination->connection, &risk, error);

    if (!code && risk)
        add_text(examination, "durability", ROWLOCK_WARNS, risk);
    else if (!code && rowlock__sql(examination->connection, ROWLOCK_SQL_DURABILITY))
        add(examination, "durability", ROWLOCK_SOUND,
            "the server's settings keep commits when its machine crashes", "");
    free(risk);
    return code;
}

/* ---- the account ----------------------------------------------------------------------------- */

#define OF_HISTORY ", which only the history needs"

static void lacks(void *data, const char *what, const char *grant, bool of_history)
{
    char text[700];

    snprintf(text, sizeof text, "lacks %s%s", what, of_history ? OF_HISTORY : "");
    add(data, "privileges", of_history ? ROWLOCK_WARNS : ROWLOCK_UNSAFE, text, grant);
}

static int examine_privileges(struct examination *examination, struct rowlock_error *error)
{
    char *account = NULL, text[300];
    size_t before = examination->findings.n;
    int code = ROWLOCK_OK;

    /* an older schema lacks objects that the text names */
    if (examination->installed.version >= ROWLOCK_SCHEMA_VERSION || !examination->usable)
        code = rowlock__read_privileges(examination->connection, &examination->installed, lacks,
                                        examination, &account, error);
    if (!code && account && examination->findings.n == before) {
        snprintf(text, sizeof text, "%s has every privilege that locks and the history need",
                 account);
        add(examination, "privileges", ROWLOCK_SOUND, text, "");
    }
    free(account);
    return code;
}

/* ---- the schema ------------------------------------------------------------------------------ */

static int examine_owner(struct examination *examination, struct rowlock_error *error)
{
    return rowlock__sql(examination->connection, ROWLOCK_SQL_OWNER)
               ? ask(examination, ROWLOCK_SQL_OWNER, NULL, error)
               : ROWLOCK_OK;
}

static int examine_parts(struct examination *examination, struct rowlock_error *error)
{
    struct rowlock_parts parts = {0};
    int version = examination->installed.version;
    const char *technique = rowlock__technique_name(examination->installed.technique);
    char text[300];
    int code = rowlock__missing(examination->connection, &parts, error);

    if (!code && version != ROWLOCK_SCHEMA_VERSION) {
        /* it works, but its own program is needed to tell whether it is complete */
        snprintf(text, sizeof text,
                 "version %d, technique %s; this rowlock has version %d, and works "
                 "with both",
                 version, technique, ROWLOCK_SCHEMA_VERSION);
        add(examination, "schema", ROWLOCK_WARNS, text,
            version < ROWLOCK_SCHEMA_VERSION
                ? rowlock__upgrade_command(examination->connection)
                : "update rowlock on this node, and restart its processes");
        examination->complete = true;
        return ROWLOCK_OK;
    }
    if (!code && !parts.missing)
        snprintf(text, sizeof text, "complete, version %d, technique %s", version, technique);
    else if (!code)
        snprintf(text, sizeof text, "missing, or hidden from this account: %.200s%s", parts.missing,
                 parts.unsafe ? "" : OF_HISTORY);
    examination->complete = !code && !parts.missing;
    if (!code)
        add(examination, "schema",
            parts.unsafe    ? ROWLOCK_UNSAFE
            : parts.missing ? ROWLOCK_WARNS
                            : ROWLOCK_SOUND,
            text,
            parts.missing ? "rowlock schema install; if privileges are missing, grant them first"
                          : "");
    free(parts.missing);
    return code;
}

static int examine_schema(struct examination *examination, struct rowlock_error *error)
{
    struct rowlock_error why = {0};
    enum rowlock_technique technique;
    int code = rowlock_installed(examination->connection, &technique, &why);

    if (code == ROWLOCK_ESCHEMA || code == ROWLOCK_EDENIED || code == ROWLOCK_EMODE) {
        add_text(examination, "schema", ROWLOCK_UNSAFE, why.text);
        return ROWLOCK_OK;
    }
    if (code && error)
        *error = why;
    if (code)
        return code;
    examination->usable = true;
    examination->installed = examination->connection->installed;
    return examine_parts(examination, error);
}

static int examine_rows(struct examination *examination, struct rowlock_error *error)
{
    int code = examination->usable ? ask(examination, ROWLOCK_SQL_EXAMINE_SCHEMA, NULL, error)
                                   : ROWLOCK_OK;

    if (code != ROWLOCK_EDENIED && !(code == ROWLOCK_ESCHEMA && !examination->complete))
        return code;
    rowlock__clear_error(error); /* the check of privileges, or of the schema, reports it */
    return ROWLOCK_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int (*const examine[])(struct examination *, struct rowlock_error *) = {
    examine_library, examine_server,     examine_durability, examine_owner,
    examine_schema,  examine_privileges, examine_rows};

int rowlock_examine(struct rowlock_connection *connection, rowlock_visit_finding visit, void *data,
                    struct rowlock_error *error)
{
    struct examination examination = {.connection = connection,
                                      .findings = {.size = sizeof(struct rowlock_finding)}};
    const struct rowlock_finding *finding;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !visit)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "visit must not be NULL");
    for (size_t i = 0; !code && i < sizeof examine / sizeof *examine; i++)
        code = examine[i](&examination, error);
    code = rowlock__rows_complete(&examination.findings, code, error);
    finding = examination.findings.row;
    for (size_t i = 0; !code && i < examination.findings.n; i++)
        if (visit(&finding[i], data))
            break;
    rowlock__rows_clear(&examination.findings);
    return code;
}

int rowlock_schema_risk(struct rowlock_connection *connection, char **out,
                        struct rowlock_error *error)
{
    struct examination examination = {.connection = connection,
                                      .findings = {.size = sizeof(struct rowlock_finding)}};
    const struct rowlock_finding *finding;
    char text[700], *risk = NULL;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !out)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "out must not be NULL");
    if (!code)
        code = examine_owner(&examination, error);
    finding = examination.findings.row;
    if (!code && examination.findings.n && finding->status != ROWLOCK_SOUND) {
        snprintf(text, sizeof text, "%s; %s", finding->finding, finding->advice);
        risk = strdup(text);
        examination.findings.failed |= !risk;
    }
    code = rowlock__rows_complete(&examination.findings, code, error);
    if (!code)
        *out = risk;
    rowlock__rows_clear(&examination.findings);
    return code;
}

int rowlock_clock(struct rowlock_connection *connection, int64_t *now_ms,
                  struct rowlock_error *error)
{
    int64_t read_ms = 0;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !now_ms)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "now_ms must not be NULL");
    if (!code)
        code = rowlock__ask(connection, ROWLOCK_SQL_CLOCK, NULL, rowlock__take_number, &read_ms,
                            error);
    if (!code)
        *now_ms = read_ms;
    return code;
}

/* rowlock_durability: settings of the server that may lose commits. */

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
        code = rowlock__no_memory(error);
    if (code)
        free(warning.text);
    else
        *out = warning.text;
    return code;
}
