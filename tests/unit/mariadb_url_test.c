/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of mariadb:// and mysql:// URLs. No error shows any part of a malformed one. */
#include "driver/mariadb_url.h"

#include <string.h>

#include "lib/test.h"

static void is(const char *text, const char *actual, const char *wanted)
{
    if (strcmp(actual ? actual : "(none)", wanted ? wanted : "(none)") != 0)
        t_fail(__FILE__, __LINE__, "%s: %s, not %s", text, actual ? actual : "(none)",
               wanted ? wanted : "(none)");
}

/* A part that the URL does not have is NULL, or port 0. */
TEST(the_parts_of_a_url)
{
    static const struct {
        const char *text, *user, *password, *host, *database, *socket;
        int port;
    } urls[] = {
        {"mariadb://us%40er:p%3Aw%2f%25@db.example:3307/my%20db", "us@er", "p:w/%", "db.example",
         "my db", NULL, 3307},
        {"mysql:///db", NULL, NULL, NULL, "db", NULL, 0},
        {"mariadb://", NULL, NULL, NULL, NULL, NULL, 0},
        {"mariadb://me@%2Frun%2Fmysqld.sock/db", "me", NULL, NULL, "db", "/run/mysqld.sock", 0},
        {"mariadb://me@localhost/db?socket=/tmp/s", "me", NULL, "localhost", "db", "/tmp/s", 0},
        {"mariadb://me@[::1]:3306/db", "me", NULL, "::1", "db", NULL, 3306},
    };

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct rowlock__mariadb_url *url = NULL;

        t_ok(rowlock__mariadb_url(urls[i].text, &url, &t_error));
        is(urls[i].text, url->user, urls[i].user);
        is(urls[i].text, url->password, urls[i].password);
        is(urls[i].text, url->host, urls[i].host);
        is(urls[i].text, url->database, urls[i].database);
        is(urls[i].text, url->socket, urls[i].socket);
        t_int(url->port, urls[i].port);
        rowlock__mariadb_url_free(url);
    }
    rowlock__mariadb_url_free(NULL);
}

TEST(a_bad_url_is_refused_and_not_shown)
{
    static const char *const bad[] = {
        "mariadb://me:hunter2@host:port/db",
        "mariadb://me:hunter2@host:99999/db",
        "mariadb://me:hunter2%@host/db",
        "mariadb://me:hunter2%zz@host/db",
        "mariadb://me:hunter2@[::1/db",
        "mariadb://me:hunter2@host/db?colour=red",
        "mariadb://me:hunter2@host/db?ssl=perhaps",
        "mariadb:me:hunter2@host",
        "mariadb://me:hunter2%00x@host/db",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rowlock__mariadb_url *url = NULL;

        t_fails(rowlock__mariadb_url(bad[i], &url, &t_error), EINVAL);
        t_true(url == NULL);
        t_lacks(t_error.text, "hunter2");
    }
}
