/* SPDX-License-Identifier: Apache-2.0 */
/* Typical hand-written libmariadb code: prepared statements, each one a round trip. */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/list.h"

enum { LOCK, UNLOCK, ROW, TAKE, GIVE, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [LOCK] = "SELECT GET_LOCK(?, 3600)",
    [UNLOCK] = "SELECT RELEASE_LOCK(?)",
    [ROW] = "SELECT id FROM bench_row WHERE id = ? FOR UPDATE",
    [TAKE] = ("UPDATE bench_row SET owner = ?, expires = utc_timestamp(6) + INTERVAL ? MICROSECOND "
              "WHERE id = ? AND (owner IS NULL OR expires <= utc_timestamp(6))"),
    [GIVE] = "UPDATE bench_row SET owner = NULL WHERE id = ? AND owner = ?",
};

struct session {
    MYSQL *mysql;
    MYSQL_STMT *prepared[STATEMENTS]; /* when first used */
    int owner;
    long long ttl_us;
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

static MYSQL *connect_to(const char *url)
{
    struct address address = address_of(url);
    MYSQL *mysql = mysql_init(NULL);

    if (!mysql_real_connect(mysql, address.host, address.user, address.password, address.database,
                            address.port, NULL, 0))
        bench_die("MariaDB: %s", mysql_error(mysql));
    return mysql;
}

static void query(MYSQL *mysql, const char *text)
{
    if (mysql_query(mysql, text))
        bench_die("MariaDB: %s", mysql_error(mysql));
}

static void create_rows(const struct bench_place *place)
{
    MYSQL *mysql = connect_to(place->url);
    char insert[160];

    snprintf(insert, sizeof insert,
             "INSERT INTO bench_row (id) SELECT seq FROM seq_0_to_%u WHERE NOT EXISTS "
             "(SELECT 1 FROM bench_row)",
             place->names + BENCH_HOT - 1);
    query(mysql, "CREATE TABLE IF NOT EXISTS bench_row (id INT PRIMARY KEY, owner INT, "
                 "expires DATETIME(6)) ENGINE = InnoDB");
    query(mysql, insert);
    mysql_close(mysql);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void *open_session(const struct bench_place *place, int client)
{
    struct session *session = calloc(1, sizeof *session);

    session->mysql = connect_to(place->url);
    session->owner = client;
    session->ttl_us = place->ttl_ms * 1000LL;
    return session;
}

static void close_session(void *data)
{
    struct session *session = data;

    for (int i = 0; i < STATEMENTS; i++)
        if (session->prepared[i])
            mysql_stmt_close(session->prepared[i]);
    mysql_close(session->mysql);
    free(session);
}

static MYSQL_STMT *execute(struct session *session, int which, MYSQL_BIND *in)
{
    MYSQL_STMT **statement = &session->prepared[which];

    if (!*statement) {
        *statement = mysql_stmt_init(session->mysql);
        if (mysql_stmt_prepare(*statement, texts[which], strlen(texts[which])))
            bench_die("MariaDB: %s", mysql_stmt_error(*statement));
    }
    if (mysql_stmt_bind_param(*statement, in) || mysql_stmt_execute(*statement))
        bench_die("MariaDB: %s", mysql_stmt_error(*statement));
    return *statement;
}

/* Runs a SELECT of one number. */
static int ask(struct session *session, int which, MYSQL_BIND *in)
{
    MYSQL_STMT *statement = execute(session, which, in);
    int answer = 0;
    MYSQL_BIND out = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &answer};

    if (mysql_stmt_bind_result(statement, &out) || mysql_stmt_store_result(statement) ||
        mysql_stmt_fetch(statement))
        bench_die("MariaDB: no row: %s", mysql_stmt_error(statement));
    mysql_stmt_free_result(statement);
    return answer;
}

static void call(struct session *session, int which, unsigned name)
{
    char text[BENCH_NAME];
    unsigned long length;
    MYSQL_BIND in = {.buffer_type = MYSQL_TYPE_STRING, .buffer = text, .length = &length};

    bench_name(name, text);
    in.buffer_length = length = strlen(text);
    if (ask(session, which, &in) != 1)
        bench_die("MariaDB: GET_LOCK or RELEASE_LOCK did not answer 1");
}

static void lock(void *data, unsigned name)
{
    call(data, LOCK, name);
}

static void unlock(void *data, unsigned name)
{
    call(data, UNLOCK, name);
}

static void begin_row(void *data, unsigned name)
{
    struct session *session = data;
    MYSQL_BIND in = {.buffer_type = MYSQL_TYPE_LONG, .buffer = &name};

    query(session->mysql, "START TRANSACTION");
    ask(session, ROW, &in);
}

static void commit(void *data, unsigned name)
{
    struct session *session = data;

    (void)name;
    query(session->mysql, "COMMIT");
}

/* Polls: a refused client is not woken. */
static void take(void *data, unsigned name)
{
    struct session *session = data;
    MYSQL_BIND in[] = {{.buffer_type = MYSQL_TYPE_LONG, .buffer = &session->owner},
                       {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &session->ttl_us},
                       {.buffer_type = MYSQL_TYPE_LONG, .buffer = &name}};
    unsigned pause = 0;

    while (mysql_stmt_affected_rows(execute(session, TAKE, in)) != 1)
        bench_pause(&pause);
}

static void give(void *data, unsigned name)
{
    struct session *session = data;
    MYSQL_BIND in[] = {{.buffer_type = MYSQL_TYPE_LONG, .buffer = &name},
                       {.buffer_type = MYSQL_TYPE_LONG, .buffer = &session->owner}};

    if (mysql_stmt_affected_rows(execute(session, GIVE, in)) != 1)
        bench_die("the row was not ours any more");
}

/* ---- as a process ---------------------------------------------------------------------------- */

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

#define BY_HAND(lock, unlock) \
    .open = open_session, .acquire = lock, .release = unlock, .close = close_session

const struct bench_peer bench_peers_mariadb[] = {
    {"mariadb-get-lock", "mariadb", 0, BENCH_NOTHING, "GET_LOCK and RELEASE_LOCK by hand",
     BY_HAND(lock, unlock), .command = run_client},
    {"mariadb-for-update", "mariadb", 0, BENCH_NOTHING,
     "START TRANSACTION, SELECT FOR UPDATE, COMMIT by hand, of existing rows", .setup = create_rows,
     BY_HAND(begin_row, commit)},
    {"mariadb-update", "mariadb", 0, BENCH_BOTH,
     "a conditional UPDATE of an existing row, by hand; a refused client retries",
     .setup = create_rows, BY_HAND(take, give), .expires = 1},
    {.name = NULL},
};
