/* SPDX-License-Identifier: Apache-2.0 */
/* GET_LOCK and RELEASE_LOCK as prepared statements. */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/list.h"

struct session {
    MYSQL *mysql;
    MYSQL_STMT *lock, *unlock;
};
struct address { /* mariadb://USER:PASSWORD@HOST:PORT/DATABASE, as bench/run writes it */
    char user[40], password[40], host[80], database[80];
    unsigned port;
};

static struct address address_of(const char *url)
{
    struct address address;

    if (sscanf(url, "mariadb://%39[^:]:%39[^@]@%79[^:]:%u/%79s", address.user, address.password,
               address.host, &address.port, address.database) != 5)
        bench_die("no URL of the form mariadb://user:password@host:port/database");
    return address;
}

static MYSQL_STMT *prepare(MYSQL *mysql, const char *text)
{
    MYSQL_STMT *statement = mysql_stmt_init(mysql);

    if (mysql_stmt_prepare(statement, text, strlen(text)))
        bench_die("MariaDB: %s", mysql_stmt_error(statement));
    return statement;
}

static void *open_session(const struct bench_place *place, int client)
{
    struct session *session = calloc(1, sizeof *session);
    struct address address = address_of(place->url);

    (void)client;
    session->mysql = mysql_init(NULL);
    if (!mysql_real_connect(session->mysql, address.host, address.user, address.password,
                            address.database, address.port, NULL, 0))
        bench_die("MariaDB: %s", mysql_error(session->mysql));
    session->lock = prepare(session->mysql, "SELECT GET_LOCK(?, 3600)");
    session->unlock = prepare(session->mysql, "SELECT RELEASE_LOCK(?)");
    return session;
}

static void ask(MYSQL_STMT *statement, unsigned name)
{
    char text[BENCH_NAME];
    unsigned long length;
    int answer = 0;
    MYSQL_BIND in = {.buffer_type = MYSQL_TYPE_STRING, .buffer = text, .length = &length};
    MYSQL_BIND out = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &answer};

    bench_name(name, text);
    in.buffer_length = length = strlen(text);
    if (mysql_stmt_bind_param(statement, &in) || mysql_stmt_execute(statement) ||
        mysql_stmt_bind_result(statement, &out) || mysql_stmt_store_result(statement) ||
        mysql_stmt_fetch(statement))
        bench_die("MariaDB: %s", mysql_stmt_error(statement));
    mysql_stmt_free_result(statement);
    if (answer != 1)
        bench_die("MariaDB: GET_LOCK or RELEASE_LOCK did not answer 1");
}

static void lock(void *data, unsigned name)
{
    struct session *session = data;

    ask(session->lock, name);
}

static void unlock(void *data, unsigned name)
{
    struct session *session = data;

    ask(session->unlock, name);
}

static void close_session(void *data)
{
    struct session *session = data;

    mysql_stmt_close(session->lock);
    mysql_stmt_close(session->unlock);
    mysql_close(session->mysql);
    free(session);
}

/* The password is not among its arguments. */
static void run_client(const struct bench_place *place, struct bench_command *out)
{
    static struct address address;
    static char port[16];

    address = address_of(place->url);
    snprintf(port, sizeof port, "%u", address.port);
    setenv("MYSQL_PWD", address.password, 1);
    bench_append(out, "mariadb");
    bench_append(out, "--no-defaults");
    bench_append(out, "-h");
    bench_append(out, address.host);
    bench_append(out, "-P");
    bench_append(out, port);
    bench_append(out, "-u");
    bench_append(out, address.user);
    bench_append(out, "-e");
    bench_append(out, "SELECT GET_LOCK('bench:process', 3600);\n\\! true\n");
}

const struct bench_peer bench_peers_mariadb[] = {
    {"mariadb-get-lock", "mariadb", 0, BENCH_NOTHING, "GET_LOCK and RELEASE_LOCK by hand",
     .open = open_session, .acquire = lock, .release = unlock, .close = close_session,
     .command = run_client},
    {.name = NULL},
};
