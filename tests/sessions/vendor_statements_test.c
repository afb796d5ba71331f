/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema and the statements for Oracle, SQL Server and DB2 by H2's compatibility modes: H2
 * knows their types, SELECT FOR UPDATE NOWAIT, the table hints and the isolation clause. It does
 * not know their clocks, so each clock is replaced by a number.
 *
 * Runs on: h2/jdbc
 */
#include <stdio.h>
#include <string.h>

#include "dialect/plain.h"
#include "lib/test.h"
#include "schema/schema.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TEXT_SIZE 8000

struct clock {
    char text[800];
    size_t length;
};

/* "SELECT clock AS now_ms FROM rowlock_meta" */
static struct clock clock_of(const struct rowlock_plain *plain)
{
    const char *text = plain->statements[ROWLOCK_PLAIN_NOW].text + strlen("SELECT ");
    struct clock clock = {.length = 0};
    const char *end = strstr(text, " AS now_ms");

    t_true(end && (size_t)(end - text) < sizeof clock.text);
    clock.length = (size_t)(end - text);
    memcpy(clock.text, text, clock.length);
    return clock;
}

/* With a value for each parameter. */
static void fill_in(const struct rowlock_statement *statement, const struct clock *clock, char *out)
{
    const char *type = statement->types;
    char *end = out + TEXT_SIZE - 1;

    for (const char *at = statement->text; *at && out < end;) {
        if (strncmp(at, clock->text, clock->length) == 0) {
            *out++ = '1';
            at += clock->length;
        } else if (*at == '?') {
            out += snprintf(out, (size_t)(end - out), "%s", *type++ == 'i' ? "1" : "'x'");
            at++;
        } else {
            *out++ = *at++;
        }
    }
    t_true(out < end);
    *out = '\0';
}

static void carry_out(void *hand, const char *text)
{
    char answer[500];

    if (t_engine()->sql(hand, text, answer, sizeof answer))
        t_fail(__FILE__, __LINE__, "%s: %s", answer, text);
}

static void carry_out_piece(void *hand, const struct rowlock_dialect *dialect, const char *name)
{
    const struct rowlock_piece *piece = dialect->pieces;

    while (piece->name && strcmp(piece->name, name) != 0)
        piece++;
    for (const char *at = piece->name ? piece->text : "", *end; (end = strstr(at, ";\n"));
         at = end + 2)
        carry_out(hand, t_say("%.*s", (int)(end - at), at));
}

static void install_tables(void *hand, const struct rowlock_dialect *dialect)
{
    const char *pieces[ROWLOCK_PIECES];
    size_t n = rowlock__install_pieces(ROWLOCK_ROW, false, pieces);

    for (size_t i = 0; i < n; i++)
        carry_out_piece(hand, dialect, pieces[i]);
    carry_out_piece(hand, dialect, "grants");
}

static void try_product(const char *engine, const char *mode)
{
    const struct rowlock_dialect *dialect = rowlock__plain_named(engine);
    struct clock clock = clock_of(dialect->plain);
    void *hand = t_native();
    char text[TEXT_SIZE];
    int n = 0;

    carry_out_piece(hand, dialect, "uninstall"); /* of the engine before, or of H2 */
    carry_out(hand, mode);
    install_tables(hand, dialect);
    for (int i = 0; i < ROWLOCK_PLAIN_COUNT; i++) {
        if (!dialect->plain->statements[i].text)
            continue;
        fill_in(&dialect->plain->statements[i], &clock, text);
        carry_out(hand, text);
        n++;
    }
    print_message("# %s: %d statements\n", engine, n);
    t_true(n > ROWLOCK_PLAIN_COUNT / 2);
}

TEST(the_vendors_statements_run_in_the_modes_of_h2)
{
    static const char *const products[][2] = {{"oracle", "SET MODE Oracle"},
                                              {"sqlserver", "SET MODE MSSQLServer"},
                                              {"db2", "SET MODE DB2"}};

    carry_out(t_native(), "CREATE USER application PASSWORD 'hunter2'");
    for (size_t i = 0; i < COUNT(products); i++)
        try_product(products[i][0], products[i][1]);
}
