/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the JDBC driver, without the SQL of the plain dialects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "lib/extra.h"
#include "lib/jdbc.h"
#include "lib/test.h"
#include "util/clock.h"

/* ---- engines ------------------------------------------------------------------------------- */

/* The linker sends the driver's question for the dialect here (jdbc_test.mk). */
const struct rowlock_dialect *__wrap_rowlock__plain_dialect(const char *product);
const struct rowlock_dialect *__wrap_rowlock__plain_dialect(const char *product)
{
    static const struct rowlock_dialect none = {.name = "none"};
    static const char *const known[] = {"Apache Derby", "H2", "HSQL Database Engine", "PostgreSQL",
                                        "MariaDB"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(product, known[i]) == 0)
            return &none;
    return NULL;
}

const struct t_jdbc_facts t_jdbc_derby = {"derby", "ROWLOCK_TEST_DERBY", "23505",
                                          20000,   ROWLOCK_TX_KEPT,      ROWLOCK_TX_DEAD};
const struct t_jdbc_facts t_jdbc_h2 = {"h2",  "ROWLOCK_TEST_H2", "23505",
                                       23505, ROWLOCK_TX_KEPT,   ROWLOCK_TX_DEAD};
const struct t_jdbc_facts t_jdbc_hsqldb = {"hsqldb", "ROWLOCK_TEST_HSQLDB", "23505",
                                           -104,     ROWLOCK_TX_KEPT,       ROWLOCK_TX_DEAD};
const struct t_jdbc_facts t_jdbc_postgresql = {
    "postgresql", "ROWLOCK_TEST_POSTGRESQL", "23505", 0, ROWLOCK_TX_ABORTED, ROWLOCK_TX_ABORTED};

const struct t_jdbc_facts t_jdbc_mariadb = {"mariadb", "ROWLOCK_TEST_MARIADB", "23000",
                                            1062,      ROWLOCK_TX_KEPT,        ROWLOCK_TX_KEPT};

#define MINUTE (&(struct rowlock_budget){rowlock__now_ms() + 60000, -1, 0})

/* ---- sessions ------------------------------------------------------------------------------ */

/* postgresql://tester@127.0.0.1:5432/test_1 and mariadb://rowlock:secret@... as jdbc: URLs. */
const char *t_jdbc_url(const struct t_jdbc_facts *on)
{
    const char *own = getenv(on->variable);
    const char *at = own ? strchr(own, '@') : NULL;

    if (!own)
        t_fail(__FILE__, __LINE__, "%s is not set: run it by tests/run", on->variable);
    if (strncmp(own, "jdbc:", 5) == 0)
        return own;
    if (on == &t_jdbc_mariadb)
        return t_say("jdbc:mariadb://%s?user=rowlock&password=secret", at + 1);
    return t_say("jdbc:postgresql://%s?user=tester", at + 1);
}

const struct rowlock_driver *t_jdbc(void)
{
    t_java_runs = 1;
    return rowlock__driver_named("jdbc", &t_error);
}

int t_jdbc_open_url(const char *url, const struct rowlock_budget *budget,
                    struct rowlock_link **link)
{
    struct rowlock_source source = {.url = url, .interrupt_fd = -1};
    const struct rowlock_dialect *dialect;

    return t_jdbc()->open(&source, budget ? budget : MINUTE, link, &dialect, &t_error);
}

struct rowlock_link *t_jdbc_open(const struct t_jdbc_facts *on)
{
    struct rowlock_link *link = NULL;

    t_ok(t_jdbc_open_url(t_jdbc_url(on), NULL, &link));
    return link;
}

struct rowlock_outcome t_jdbc_outcome;

/* Runs one statement; `types` is that of its parameters. */
int t_jdbc_run(struct rowlock_link *link, unsigned flags, const struct rowlock_budget *budget,
               struct rowlock_call *call, const char *text, const char *types)
{
    struct rowlock_statement statement = {"test", text, (unsigned)strlen(types), types, NULL};

    call->statement = &statement;
    return t_jdbc()->run(link, flags, call, 1, budget ? budget : MINUTE, &t_jdbc_outcome, &t_error);
}

int t_jdbc_sql(struct rowlock_link *link, unsigned flags, const char *text)
{
    struct rowlock_call call = {0};

    return t_jdbc_run(link, flags, NULL, &call, text, "");
}

int t_jdbc_end(struct rowlock_link *link, int commits)
{

    if (!commits)
        return t_jdbc()->rollback(link, MINUTE, &t_error);
    return t_jdbc()->run(link, ROWLOCK_COMMIT, NULL, 0, MINUTE, &t_jdbc_outcome, &t_error);
}

void t_jdbc_take_number(void *data, const struct rowlock_value *columns, unsigned n)
{
    if (n > 0)
        *(int64_t *)data = rowlock__value_number(&columns[0]);
}

int64_t t_jdbc_ask(struct rowlock_link *link, const char *text)
{
    int64_t number = -1;
    struct rowlock_call call = {.row = t_jdbc_take_number, .data = &number};

    t_ok(t_jdbc_run(link, ROWLOCK_INSIDE, NULL, &call, text, ""));
    return number;
}

/* A table of two rows, through a script with traps for whatever splits it. */
struct rowlock_link *t_jdbc_prepare(const struct t_jdbc_facts *on)
{
    struct rowlock_link *link = t_jdbc_open(on);

    t_jdbc()->script(link, "DROP TABLE item;", MINUTE, NULL);
    t_ok(t_jdbc()->script(
        link,
        "-- a comment; with a semicolon\n"
        "CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY, n INTEGER,\n"
        "  small SMALLINT, text VARCHAR(200), letter CHAR(1), amount NUMERIC(9, 2));"
        "\nINSERT INTO item (id, text) VALUES (1, 'it''s; one');\n"
        "/* ; */ INSERT INTO item (id, text) VALUES (2, '--')",
        MINUTE, &t_error));
    return link;
}

pid_t t_jdbc_start_server(const struct t_jdbc_facts *on, const char *name, char *url, size_t size)
{
    const char *line = extra_shell(
        "start_%s jdbc_%s_%s >&2 && echo \"$server_pid $(jdbc_url %s $server_port test %s)\"",
        on->name, on->name, name ? name : "$$", on->name, name ? "\"$server_data\"" : "");

    t_true(strchr(line, ' ') != NULL);
    snprintf(url, size, "%s", strchr(line, ' ') + 1);
    return atoi(line);
}
