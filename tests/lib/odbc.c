/* SPDX-License-Identifier: Apache-2.0 */
/* Connection strings for the database under test. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/odbc.h"
#include "lib/test.h"

const char *t_odbc_driver(const char *file)
{
    static char path[4][300];
    static unsigned turn;
    char pattern[300];
    glob_t found = {0};

    snprintf(pattern, sizeof pattern, "/usr/lib*/{,*/}{,odbc/}%s", file);
    if (glob(pattern, GLOB_BRACE, NULL, &found) != 0)
        t_fail(__FILE__, __LINE__, "the ODBC driver %s is not installed", file);
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s", found.gl_pathv[0]);
    globfree(&found);
    return path[turn];
}

const char *t_odbc_url(int port, const char *more)
{
    static char urls[4][1000];
    static unsigned turn;
    const char *database = strrchr(t_url(), '/') + 1;
    int postgresql = strcmp(t_facts()->engine, "postgresql") == 0;

    turn = (turn + 1) % 4;
    snprintf(urls[turn], sizeof urls[turn],
             "odbc:Driver=%s;Server=127.0.0.1;Port=%d;Database=%s;UID=%s%s%s",
             t_odbc_driver(postgresql ? "psqlodbcw.so" : "libmaodbc.so"), port, database,
             postgresql ? "tester" : "rowlock", postgresql ? "" : ";PWD=secret", more);
    return urls[turn];
}
