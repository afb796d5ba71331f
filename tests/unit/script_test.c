/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting a script into statements. */
#include <string.h>

#include "driver/script.h"
#include "lib/test.h"

static void splits(const char *script, const char *const *wanted)
{
    const char *at = script, *statement;
    char text[200];
    size_t length;

    while (rowlock__script_next(&at, &statement, &length)) {
        t_true(*wanted != NULL);
        t_true(length < sizeof text);
        memcpy(text, statement, length);
        text[length] = '\0';
        t_text(text, *wanted++);
    }
    t_true(*wanted == NULL);
    t_true(!rowlock__script_next(&at, &statement, &length));
}

TEST(statements_end_with_semicolons)
{
    splits("CREATE TABLE a (b INT);\nINSERT INTO a VALUES (1) ;\n\n",
           (const char *[]){"CREATE TABLE a (b INT)", "INSERT INTO a VALUES (1)", NULL});
    splits("SELECT 1", (const char *[]){"SELECT 1", NULL});
    splits("", (const char *[]){NULL});
    splits(" ; ;\n", (const char *[]){NULL});
}

TEST(a_semicolon_in_quotes_or_in_a_comment_is_text)
{
    splits("INSERT INTO a VALUES ('x;''y;', \";\"); SELECT 1;",
           (const char *[]){"INSERT INTO a VALUES ('x;''y;', \";\")", "SELECT 1", NULL});
    splits("-- a; b\n/* c; d */ SELECT 1 -- e; 'f\n, 2 -- g\n; -- h\n",
           (const char *[]){"SELECT 1 -- e; 'f\n, 2", NULL});
    splits("SELECT 4 - 2 / 1; SELECT -1", (const char *[]){"SELECT 4 - 2 / 1", "SELECT -1", NULL});
}

TEST(a_script_that_is_cut_off_ends)
{
    splits("SELECT 'a; b", (const char *[]){"SELECT 'a; b", NULL});
    splits("SELECT 1 /* a", (const char *[]){"SELECT 1", NULL});
    splits("-- only a comment", (const char *[]){NULL});
}
