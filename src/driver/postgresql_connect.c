/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to PostgreSQL within a budget. libpq gives no SQLSTATE for a refused connection, only
 * text in the server's language. Verbose text contains the SQLSTATE, which distinguishes a wrong
 * password from a full server. Messages of libpq that could quote a part of a password are not
 * passed on.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/failure.h"
#include "driver/postgresql_link.h"
#include "system/system.h"
#include "util/bytes.h"
#include "util/clock.h"
#include "util/error.h"

#define HOST_MS 10000 /* for each of several hosts, if the caller has no deadline */

/* Sets up a session of our own. Our deadlines limit the waits, so a role's default timeouts must
   not. jit is off, because compiling our queries takes longer than executing them, and so is
   exit_on_error, because functions catch errors. The server
   should notice a client that died while it waited (PostgreSQL 14, if its system supports that);
   and one whose machine is gone, unless the URL sets that ($2), or the server notices it sooner.
   Statements are prepared only if we talk to the backend itself: behind a pooler it may be another
   one each time. The server's version distinguishes PostgreSQL from YugabyteDB. */
static const struct rowlock_statement set_up = {
    "set_up",
    "SELECT pg_catalog.pg_backend_pid() = $1::integer, "
    "CASE WHEN pg_catalog.pg_backend_pid() = $1::integer THEN "
    "pg_catalog.set_config('lock_timeout', '0', false) || "
    "pg_catalog.set_config('statement_timeout', '0', false) || "
    "pg_catalog.set_config('jit', 'off', false) || "
    "pg_catalog.set_config('exit_on_error', 'off', false) || "
    "CASE WHEN pg_catalog.current_setting('server_version_num')::integer >= 140000 "
    "AND pg_catalog.version() LIKE '%-linux-%' "
    "THEN pg_catalog.set_config('client_connection_check_interval', '1s', false) ELSE '' END || "
    "CASE WHEN $2::integer = 0 "
    "AND pg_catalog.current_setting('server_version_num')::integer >= 130000 "
    "AND pg_catalog.version() LIKE 'PostgreSQL%-linux-%' THEN "
    "(SELECT pg_catalog.string_agg(pg_catalog.set_config(it.name, LEAST(NULLIF("
    "pg_catalog.current_setting(it.name)::integer, 0), it.most)::text, false), '') "
    "FROM (VALUES ('tcp_keepalives_idle', $3::integer), ('tcp_keepalives_interval', $4::integer), "
    "('tcp_keepalives_count', $5::integer), ('tcp_user_timeout', $6::integer)) "
    "AS it (name, most)) ELSE '' END END, "
    "pg_catalog.version()",
    6, NULL, NULL};

/* Whether nothing names a database: libpq then uses the user's name. */
static bool names_no_database(const char *url)
{
    PQconninfoOption *options = PQ.PQconninfoParse(url, NULL);
    bool none = options != NULL;

    for (const PQconninfoOption *option = options; option && option->keyword; option++)
        if ((strcmp(option->keyword, "dbname") == 0 || strcmp(option->keyword, "service") == 0) &&
            option->val && option->val[0])
            none = false;
    if (options)
        PQ.PQconninfoFree(options);
    return none && !getenv("PGDATABASE") && !getenv("PGSERVICE");
}

/* If libpq splits a URL elsewhere than its author meant, a piece of the password gets into the
   host, the port or the database, and so into messages. */
static int check_url(const char *url, struct rowlock_error *error)
{
    const char *rest = strstr(url, "://"), *at, *slash;
    char *quoting = NULL; /* libpq's message, which quotes the part that it could not parse */
    PQconninfoOption *options;
    size_t length;
    bool numbers = true;

    if (!rest)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the URL does not begin with postgresql://: write "
                             "postgresql://user@host:port/database");
    rest += 3;
    length = strcspn(rest, "?");
    at = memchr(rest, '@', length);
    slash = memchr(rest, '/', length);
    if (at && ((slash && slash < at) || memchr(at + 1, '@', length - (size_t)(at + 1 - rest))))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the URL cannot be read: in user and password write @ as %%40, / as "
                             "%%2F, ? as %%3F");
    for (const char *percent = url; (percent = strchr(percent, '%')) != NULL; percent++)
        if (rowlock__hex_byte(percent + 1) < 0)
            return rowlock__fail(error, ROWLOCK_EINVAL,
                                 "the URL has a %% without two hex digits: write %% as %%25");
    options = PQ.PQconninfoParse(url, &quoting);
    PQ.PQfreemem(quoting);
    if (!options)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             strchr(url, '?')
                                 ? "libpq does not know an option of the URL, or cannot read it: "
                                   "what follows ? is as in ?connect_timeout=3&sslmode=require"
                                 : "the URL is not postgresql://user:password@host:port/database");
    /* without a host and @, libpq takes the password for a port, and would quote it */
    for (const PQconninfoOption *option = options; option->keyword; option++)
        if (strcmp(option->keyword, "port") == 0 && option->val &&
            option->val[strspn(option->val, "0123456789,")] != '\0')
            numbers = false;
    PQ.PQconninfoFree(options);
    if (!numbers)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the URL's port is not a number; a / in a password is written %%2F, "
                             "and @ follows the password: "
                             "postgresql://user:password@host:port/database");
    return ROWLOCK_OK;
}

/* The error of "FATAL:  28P01: password authentication failed\nLOCATION: ...": state and text. */
static int refused(struct rowlock_link *link, struct rowlock_error *error)
{
    const char *message = PQ.PQerrorMessage(link->conn), *start = NULL, *end;
    char state[6] = "", text[400];
    int code;

    for (const char *at = message; (at = strstr(at, ":  ")) != NULL; at += 3)
        if (strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 && at[8] == ':')
            start = at + 3; /* for several hosts the last */
    if (start) {
        memcpy(state, start, 5);
        message = start + 7;
    }
    end = strstr(message, "\nLOCATION:");
    snprintf(text, sizeof text, "%.*s", (int)(end ? (size_t)(end - message) : strlen(message)),
             message);
    if (state[0])
        return rowlock__failure(error, "postgresql", state, 0, text);
    if (PQ.PQconnectionNeedsPassword(link->conn)) /* the client's error, which has no state */
        return rowlock__failure(error, "postgresql", "28P01", 0, text);
    code = rowlock__failure(error, "postgresql", "", 0, text);
    return code == ROWLOCK_EDENIED ? code
                                   : rowlock__fail(error, ROWLOCK_ECONN, "%s",
                                                   text[0] ? text : "the server is unreachable");
}

static int poll_connection(struct rowlock_link *link, const struct rowlock_budget *budget,
                           struct rowlock_error *error)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (status == PGRES_POLLING_WRITING || status == PGRES_POLLING_READING) {
        switch (rowlock__wait_fd(PQ.PQsocket(link->conn),
                                 status == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                                 budget->interrupt_fd, budget->deadline_ms)) {
        case ROWLOCK_WAKE_INTERRUPT:
            return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted while connecting");
        case ROWLOCK_WAKE_DEADLINE:
            return rowlock__fail(error, ROWLOCK_ECONN, "the server did not answer in time");
        case ROWLOCK_WAKE_READY:
            break;
        }
        status = PQ.PQconnectPoll(link->conn);
    }
    return status == PGRES_POLLING_OK ? ROWLOCK_OK : refused(link, error);
}

static void set_up_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_link *link = data;

    if (n < 3)
        return;
    link->prepares = columns[0].length == 1 && columns[0].bytes[0] == 't';
    snprintf(link->product, sizeof link->product, "%.*s", (int)columns[2].length, columns[2].bytes);
    if (rowlock__find_bytes(columns[2].bytes, columns[2].length, YUGABYTEDB, strlen(YUGABYTEDB)))
        link->dialect = &rowlock__dialect_yugabytedb;
}

static int set_session_up(struct rowlock_link *link, const char *url,
                          const struct rowlock_budget *budget, struct rowlock_error *error)
{
    const char *options = getenv("PGOPTIONS");
    struct rowlock_value values[] = {
        rowlock__int_value(PQ.PQbackendPID(link->conn)),
        rowlock__int_value(strstr(url, "tcp_") || (options && strstr(options, "tcp_"))),
        rowlock__int_value(ROWLOCK_SILENT_S),
        rowlock__int_value(ROWLOCK_PROBE_S),
        rowlock__int_value(ROWLOCK_PROBES),
        rowlock__int_value(ROWLOCK_UNANSWERED_MS)};
    struct rowlock_call call = {
        .statement = &set_up, .values = values, .row = set_up_row, .data = link};
    struct rowlock_round_trip round_trip;
    int code;

    if (PQ.PQparameterStatus(link->conn, "crdb_version")) /* before a statement that it lacks */
        return rowlock__refuse_product("CockroachDB", error);
    link->n_steps = 0;
    code = rowlock__pg_add(link, &set_up, &call, error);
    if (code)
        return code;
    rowlock__pg_round_trip(link, budget, &round_trip);
    if (round_trip.reason == ROWLOCK_ECANCELED && (round_trip.lost || round_trip.text[0]))
        return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted while connecting");
    if (round_trip.lost || round_trip.text[0])
        return round_trip.sqlstate[0] && !round_trip.reason
                   ? rowlock__failure(error, "postgresql", round_trip.sqlstate, 0, round_trip.text)
                   : rowlock__fail(error, ROWLOCK_ECONN, "%s", round_trip.text);
    return rowlock__refuse_product(link->product, error);
}

/* ---- the hosts of a URL ---------------------------------------------------------------------- */

/* libpq tries several hosts by itself, but waits for one that does not answer: in its non-blocking
   calls the caller must limit that. So each host is connected separately, with a part of the
   time. */
struct hosts {
    PQconninfoOption *options;
    const char *name, *address, *port; /* lists, joined by commas; "": not in the URL */
    const char *attributes;            /* NULL: libpq's own choice */
    size_t n;
    int64_t timeout_ms; /* of the URL, for each host; 0: none */
};

static const char *option_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options && options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0 && options->val)
            return options->val;
    return "";
}

static size_t elements(const char *list)
{
    size_t n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Copies an element of a list; an only element serves all hosts. "" if it does not fit. */
static void element(const char *list, size_t i, char *out, size_t size)
{
    size_t length;

    if (elements(list) == 1)
        i = 0;
    for (; i > 0; i--)
        list = strchr(list, ',') + 1;
    length = strcspn(list, ",");
    snprintf(out, size, "%.*s", length < size ? (int)length : 0, list);
}

/* The only host that can lock is the primary, so several hosts without a choice mean it. libpq has
   its own meaning for an empty element of a list, and an error for lists of different lengths: such
   lists are not taken apart. */
static struct hosts hosts_of(const char *url)
{
    struct hosts hosts = {.options = PQ.PQconninfoParse(url, NULL), .n = 1};
    const char *lists[3];
    size_t n;

    hosts.name = option_of(hosts.options, "host");
    hosts.address = option_of(hosts.options, "hostaddr");
    hosts.port = option_of(hosts.options, "port");
    hosts.timeout_ms = 1000 * strtoll(option_of(hosts.options, "connect_timeout"), NULL, 10);
    hosts.n = elements(*hosts.address ? hosts.address : hosts.name);
    if (hosts.n > 1 && !*option_of(hosts.options, "target_session_attrs") &&
        !getenv("PGTARGETSESSIONATTRS"))
        hosts.attributes = "primary";
    lists[0] = hosts.name;
    lists[1] = hosts.address;
    lists[2] = hosts.port;
    n = hosts.n;
    for (size_t i = 0; i < 3; i++) {
        const char *list = lists[i];

        if (*list && ((elements(list) != n && (i < 2 || elements(list) != 1)) || *list == ',' ||
                      strstr(list, ",,") || list[strlen(list) - 1] == ','))
            hosts.n = 1;
    }
    return hosts;
}

static int connect_to(struct rowlock_link *link, const char *url, const struct hosts *hosts,
                      size_t i, const struct rowlock_budget *budget, struct rowlock_error *error)
{
    const char *const keywords[] = {"dbname",
                                    "client_encoding",
                                    "fallback_application_name",
                                    "target_session_attrs",
                                    "host",
                                    "hostaddr",
                                    "port",
                                    NULL};
    char name[1100] = "", address[100] = "", port[20] = "";
    const char *const values[] = {url,  "UTF8",  "rowlock", hosts->attributes,
                                  name, address, port,      NULL};
    int code;

    if (hosts->n > 1) {
        element(hosts->name, i, name, sizeof name);
        element(hosts->address, i, address, sizeof address);
        element(hosts->port, i, port, sizeof port);
    }
    link->conn = PQ.PQconnectStartParams(keywords, values, 1);
    if (!link->conn)
        return rowlock__no_memory(error);
    PQ.PQsetNoticeReceiver(link->conn, rowlock__pg_notice, link);
    PQ.PQsetErrorVerbosity(link->conn, PQERRORS_VERBOSE);
    code = PQ.PQstatus(link->conn) == CONNECTION_BAD ? refused(link, error)
                                                     : poll_connection(link, budget, error);
    PQ.PQsetErrorVerbosity(link->conn, PQERRORS_DEFAULT);
    if (!code)
        code = set_session_up(link, url, budget, error);
    /* libpq's own messages name the host */
    if (code && hosts->n > 1 && strncmp(error->text, "connection to ", 14) != 0)
        rowlock__wrap_error(error, code, "%s%s%s", *address ? address : name, *port ? ":" : "",
                            port);
    return code;
}

int rowlock__pg_connect(struct rowlock_link *link, const char *url,
                        const struct rowlock_budget *budget, struct rowlock_error *error)
{
    struct rowlock_error ignored = {0};
    char earlier[sizeof error->text] = "", last[sizeof error->text];
    int half = (int)sizeof last / 2 - 2;
    struct hosts hosts;
    int code = check_url(url, error);

    if (code)
        return code;
    error = error ? error : &ignored;
    hosts = hosts_of(url);
    for (size_t i = 0; i < hosts.n && (i == 0 || code == ROWLOCK_ECONN); i++) {
        struct rowlock_budget part = *budget;
        int64_t now = rowlock__now_ms();

        /* each host gets an equal part of the remaining time */
        if (i + 1 < hosts.n)
            part.deadline_ms = budget->deadline_ms == ROWLOCK_NEVER
                                   ? now + HOST_MS
                                   : now + (budget->deadline_ms - now) / (int64_t)(hosts.n - i);
        if (hosts.timeout_ms > 0)
            part.deadline_ms = rowlock__least(part.deadline_ms, now + hosts.timeout_ms);
        /* Leaves the previous host. Closing must not wait for it. */
        if (link->conn) {
            PQ.PQsetnonblocking(link->conn, 1);
            PQ.PQfinish(link->conn);
        }
        link->conn = NULL;
        link->dead = link->prepares = false;
        link->farewell[0] = '\0';
        code = connect_to(link, url, &hosts, i, &part, error);
        if (code && *earlier) { /* the error of this host, with those of the earlier ones before */
            memcpy(last, error->text, sizeof last);
            snprintf(error->text, sizeof error->text, "%.*s; %.*s", half, earlier, half, last);
        }
        if (code)
            memcpy(earlier, error->text, sizeof earlier);
    }
    if (!code && *earlier)
        rowlock__clear_error(error);
    PQ.PQconninfoFree(hosts.options);
    if (code && strcmp(error->sqlstate, "3D000") == 0)
        rowlock__advise(error, names_no_database(url)
                                   ? "the URL names no database, so the user's name was taken: add "
                                     "/DATABASE to it"
                                   : "create it, or name another in the URL");
    return code;
}
