/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of our own: connecting by URL, and the short second session that stops a statement of
 * the first. libmariadb resolves host names and blocks meanwhile, with the resolver's own timeouts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/mariadb_link.h"
#include "util/bytes.h"
#include "util/error.h"

static void set_text(MYSQL *mysql, enum mysql_option option, const char *value)
{
    if (value)
        rowlock__mariadb.optionsv(mysql, option, value);
}

static void set_options(MYSQL *mysql, const struct rowlock__mariadb_url *url)
{
    unsigned protocol = MYSQL_PROTOCOL_TCP;
    my_bool yes = 1, no = 0;
    /* libmariadb connects by a socket */
    bool local =
        (!url->host || strcmp(url->host, "localhost") == 0) && !url->port && !url->default_file;

    rowlock__mariadb.optionsv(mysql, MYSQL_OPT_NONBLOCK, (void *)NULL);
    if (url->default_file || url->default_group)
        rowlock__mariadb.optionsv(mysql, MYSQL_READ_DEFAULT_GROUP,
                                  url->default_group ? url->default_group : "client");
    set_text(mysql, MYSQL_READ_DEFAULT_FILE, url->default_file);
    /* Unless a Unix socket or TLS protects the password: other methods send it itself. Those of
       MySQL encrypt it, but libmariadb takes the key from any server that answers. */
    if ((url->password || url->default_file) && url->ssl != 1 && !url->socket && !local)
        set_text(mysql, MARIADB_OPT_RESTRICTED_AUTH,
                 "mysql_native_password,client_ed25519,parsec,auth_gssapi_client");
    rowlock__mariadb.optionsv(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    rowlock__mariadb.optionsv(mysql, MYSQL_OPT_RECONNECT, &no);
    if (url->port && !url->socket)
        rowlock__mariadb.optionsv(mysql, MYSQL_OPT_PROTOCOL, &protocol);
    set_text(mysql, MYSQL_OPT_SSL_CA, url->ssl_ca);
    set_text(mysql, MYSQL_OPT_SSL_CAPATH, url->ssl_capath);
    set_text(mysql, MYSQL_OPT_SSL_CERT, url->ssl_cert);
    set_text(mysql, MYSQL_OPT_SSL_KEY, url->ssl_key);
    set_text(mysql, MYSQL_OPT_SSL_CIPHER, url->ssl_cipher);
    set_text(mysql, MARIADB_OPT_TLS_VERSION, url->tls_version);
    if (url->ssl >= 0)
        rowlock__mariadb.optionsv(mysql, MYSQL_OPT_SSL_ENFORCE, url->ssl ? &yes : &no);
    if (url->ssl_verify >= 0)
        rowlock__mariadb.optionsv(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT,
                                  url->ssl_verify ? &yes : &no);
}

/* The settings that a session of ours needs, whatever the server's or the
   account's defaults are. */
static int set_session(struct rowlock_link *link, struct rowlock_error *error)
{
    static const char *const texts[] = {
        "SET NAMES utf8mb4, sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,"
        "NO_ENGINE_SUBSTITUTION', autocommit = 1, time_zone = '+00:00', "
        "sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1, "
        "group_concat_max_len = 1048576, "
        "completion_type = 0", /* otherwise a ROLLBACK in a procedure might end the session */
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
    };
    /* an optimistic transaction locks nothing before its COMMIT */
    static const char tidb_text[] = "SET SESSION tidb_txn_mode = 'pessimistic'";
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && i < sizeof texts / sizeof *texts; i++)
        code = rowlock__mariadb_execute(link, texts[i], error);
    if (!code && rowlock__find_caseless(rowlock__mariadb.server_info(link->mysql), ROWLOCK_TIDB))
        code = rowlock__mariadb_execute(link, tidb_text, error);
    return code;
}

static MYSQL *real_connect(struct rowlock_link *link)
{
    const struct rowlock__mariadb_url *url = link->url;
    MYSQL *connected = NULL;
    int64_t left_ms = link->wait.budget.deadline_ms - rowlock__now_ms();
    unsigned seconds = left_ms < 1000 ? 1 : (unsigned)((left_ms + 999) / 1000);

    set_options(link->mysql, url);
    /* the TLS handshake waits inside libmariadb, which ignores the pump: it has timeouts in whole
       seconds */
    if (link->wait.budget.deadline_ms != ROWLOCK_NEVER)
        rowlock__mariadb.optionsv(link->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    ROWLOCK_MARIADB_PUMPED(link, real_connect, &connected, link->mysql,
                           (&connected, link->mysql, url->host, url->user, url->password,
                            url->database, url->port, url->socket,
                            CLIENT_FOUND_ROWS | CLIENT_MULTI_RESULTS));
    return connected;
}

int rowlock__mariadb_connect(struct rowlock_link *link, struct rowlock_error *error)
{
    struct rowlock_budget budget = link->wait.budget;

    link->mysql = rowlock__mariadb.init(NULL);
    if (!link->mysql)
        return rowlock__no_memory(error);
    if (link->url->default_file && access(link->url->default_file, R_OK) != 0)
        return rowlock__fail(error, ROWLOCK_EINVAL, /* libmariadb would ignore it */
                             "the option file %s cannot be read: %s; correct default-file in the "
                             "URL, or its mode",
                             link->url->default_file, strerror(errno));
    if (!real_connect(link))
        return rowlock__mariadb_query_failure(link, error);
    if (rowlock__refuse_product(rowlock__mariadb.server_info(link->mysql), error))
        return error ? error->code : ROWLOCK_ESERVER;
    link->tls = rowlock__mariadb.get_ssl_cipher(link->mysql) != NULL;
    if (link->url->ssl == 1 && !link->tls) /* libmariadb itself does not enforce TLS */
        return rowlock__fail(error, ROWLOCK_EDENIED,
                             "the server does not offer TLS, and the URL requires it");
    rowlock__mariadb_arm(link, &budget);
    link->wait.connecting = true;
    return set_session(link, error);
}

void rowlock__mariadb_cancel(struct rowlock_link *link, int64_t deadline_ms)
{
    struct rowlock_link second = {.own = true, .url = link->url};
    struct rowlock_budget budget = {.deadline_ms = deadline_ms, .interrupt_fd = -1};
    char text[48];

    if (!link->url)
        return;
    rowlock__mariadb_arm(&second, &budget);
    second.mysql = rowlock__mariadb.init(NULL);
    if (!second.mysql)
        return;
    if (real_connect(&second)) {
        second.tls = rowlock__mariadb.get_ssl_cipher(second.mysql) != NULL;
        rowlock__mariadb_arm(&second, &budget);
        second.wait.connecting = true; /* never opens a third one */
        snprintf(text, sizeof text, "KILL QUERY %lu", rowlock__mariadb.thread_id(link->mysql));
        rowlock__mariadb_query(&second, text, NULL, 0);
    }
    rowlock__mariadb_forget_tls_errors();
    rowlock__mariadb.close(second.mysql);
}
