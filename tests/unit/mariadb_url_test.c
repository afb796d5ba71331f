/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of mariadb:// and mysql:// URLs. No error shows any part of a malformed one. */
#include "driver/mariadb_url.h"
#include "lib/test.h"

static struct rowlock__mariadb_url *parsed(const char *text)
{
    struct rowlock__mariadb_url *url = NULL;

    t_ok(rowlock__mariadb_url(text, &url, &t_error));
    return url;
}

static void is(const char *actual, const char *wanted)
{
    t_text(actual ? actual : "(none)", wanted ? wanted : "(none)");
}

TEST(a_url_with_everything)
{
    struct rowlock__mariadb_url *url =
        parsed("mariadb://us%40er:p%3Aw%2f%25@db.example:3307/my%20db");

    is(url->user, "us@er");
    is(url->password, "p:w/%");
    is(url->host, "db.example");
    is(url->database, "my db");
    t_int(url->port, 3307);
    is(url->socket, NULL);
    rowlock__mariadb_url_free(url);
}

TEST(what_is_not_given_is_none)
{
    struct rowlock__mariadb_url *url = parsed("mysql:///db");

    is(url->user, NULL);
    is(url->password, NULL);
    is(url->host, NULL);
    is(url->database, "db");
    t_int(url->port, 0);
    rowlock__mariadb_url_free(url);
    url = parsed("mariadb://");
    is(url->database, NULL);
    rowlock__mariadb_url_free(url);
    rowlock__mariadb_url_free(NULL);
}

TEST(sockets_and_addresses)
{
    struct rowlock__mariadb_url *url = parsed("mariadb://me@%2Frun%2Fmysqld.sock/db");

    is(url->socket, "/run/mysqld.sock");
    rowlock__mariadb_url_free(url);
    url = parsed("mariadb://me@localhost/db?socket=/tmp/s");
    is(url->socket, "/tmp/s");
    rowlock__mariadb_url_free(url);
    url = parsed("mariadb://me@[::1]:3306/db");
    is(url->host, "::1");
    t_int(url->port, 3306);
    rowlock__mariadb_url_free(url);
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
