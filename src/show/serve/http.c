/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/exit_status.h"
#include "command/output/output.h"
#include "show/serve/answer.h"
#include "show/serve/bodies.h"
#include "show/serve/reply.h"
#include "util/bytes.h"
#include "util/clock.h"

#define CONNECTIONS 100
#define IDLE_S 20u             /* timeout of a client that does not read */
#define HEAD_MS 20000          /* limit for a whole head, from the connection or its last answer */
#define ANSWER_MS 60000        /* limit for a whole answer */
#define MEMORY ((size_t)16384) /* bytes for a request's head */
#define PARAMETERS 32          /* at most, in an address */
#define WAIT_MS 3000           /* after that a request is answered from older views */

static char too_many[] = "parameters"; /* the state of a request that has too many */

struct exchange {
    struct http *http;
    struct question question;
    struct order *order; /* of a POST; NULL: of a request that reads */
    char *text;          /* the body of a POST, as far as it has come */
    size_t n_text;
    int is_given, is_done; /* of the actor; then `answer` is its answer */
    struct answer answer;
    int64_t arrived_ms;
    struct MHD_Connection *connection;
    struct exchange *next; /* of the suspended */
};

struct http {
    const struct serve_library *library;
    const struct listening *listening;
    int may_probe;
    struct source *source;
    struct MHD_Daemon *daemon;
    struct clients clients;
    struct bodies bodies; /* of libmicrohttpd's thread */
    struct access access;
    struct actor *actor; /* NULL: no user may act */

    pthread_mutex_t mutex;
    struct exchange *suspended;
    int is_ending;
};

/* ---- answers --------------------------------------------------------------------------------- */

/* Sends an answer that is written from views. The first of several requests that get the same
   answer writes it. */
static enum MHD_Result reply_shared(struct http *http, struct MHD_Connection *connection,
                                    const struct question *question, const struct shown *shown)
{
    const struct serve_library *library = http->library;
    struct body_key key = {.question = *question,
                           .all_ms = shown->all ? shown->all->asked_ms : 0,
                           .detail_ms = shown->detail ? shown->detail->asked_ms : 0,
                           .age_s = shown->age_ms / 1000,
                           .code = shown->code};
    struct answer answer = {0};
    struct MHD_Response *response = bodies_find(&http->bodies, &key, &answer.status);
    struct caller caller = {http->library, connection};
    enum MHD_Result sent;

    if (response)
        return library->MHD_queue_response(connection, answer.status, response);
    answer_write(question, shown, &answer);
    if (answer.body)
        response = bodies_add(&http->bodies, library, &key, &answer);
    reply_discard(&answer);
    if (!response)
        return reply_error(&caller, 503);
    reply_headers(library, response, &answer);
    sent = library->MHD_queue_response(connection, answer.status, response);
    library->MHD_destroy_response(response);
    return sent;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int has_body(const struct caller *caller)
{
    const char *length = caller_header(caller, "Content-Length");

    return caller_header(caller, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static int read_parameter(const struct http *http, struct MHD_Connection *connection,
                          const char *name, char *out)
{
    const char *value =
        http->library->MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);

    return request_decode(value, out, REQUEST_NAME);
}

static enum MHD_Result keep(struct http *http, struct MHD_Connection *connection,
                            struct exchange *exchange, void **state)
{
    exchange->http = http;
    exchange->arrived_ms = rowlock__now_ms();
    exchange->connection = connection;
    *state = exchange;
    return MHD_YES;
}

/* A request that reads. */
static enum MHD_Result begin_reading(struct http *http, struct MHD_Connection *connection,
                                     const char *path, const char *method, void **state)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    struct caller caller = {http->library, connection};
    struct question *question;
    struct refusal refusal = {0};
    char old[REQUEST_NAME] = "";
    struct answer answer;
    unsigned status = 0;

    if (!exchange)
        return MHD_NO;
    question = &exchange->question;
    question->route = answer_route(path);
    question->may_probe = http->may_probe;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        status = 405;
    else if (has_body(&caller))
        status = 413;
    else if (!question->route)
        status = 404;
    else if (read_parameter(http, connection, "name", question->name) ||
             read_parameter(http, connection, "old", old))
        status = 400;
    question->may_be_old = *old != 0;
    if (!status && answer_needs_views(question))
        refusal = access_to_read(&http->access, &caller);
    if (!status && !refusal.status)
        return keep(http, connection, exchange, state);
    free(exchange);
    if (refusal.status)
        return reply_refusal(&caller, &refusal);
    if (status != 404)
        return reply_error(&caller, status);
    answer_missing(path, &answer);
    return reply(&caller, &answer);
}

static void free_exchange(struct exchange *exchange)
{
    if (exchange->order)
        rowlock__wipe(exchange->order, sizeof *exchange->order);
    if (exchange->text)
        rowlock__wipe(exchange->text, exchange->n_text);
    free(exchange->order);
    free(exchange->text);
    reply_discard(&exchange->answer);
    free(exchange);
}

/* A request that acts; its body follows. */
static enum MHD_Result begin_acting(struct http *http, struct MHD_Connection *connection,
                                    const struct action *action, void **state)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    struct caller caller = {http->library, connection};
    struct refusal refusal;

    if (!exchange)
        return MHD_NO;
    exchange->order = calloc(1, sizeof *exchange->order);
    exchange->text = calloc(1, ORDER_MOST + 1);
    if (!exchange->order || !exchange->text) {
        free_exchange(exchange);
        return MHD_NO;
    }
    exchange->order->action = action;
    exchange->order->arrived_ms = rowlock__now_ms();
    refusal = access_to_act(&http->access, &caller, exchange->order);
    if (!refusal.status)
        return keep(http, connection, exchange, state);
    free_exchange(exchange);
    return reply_refusal(&caller, &refusal);
}

static enum MHD_Result begin(struct http *http, struct MHD_Connection *connection, const char *path,
                             const char *method, void **state)
{
    struct caller caller = {http->library, connection};
    const struct action *action = http->actor ? action_of(path) : NULL;
    struct answer answer;

    /* Logins need a file of users, actions --allow-actions. */
    if (action && action_needs_operator(action) && !http->access.options.may_act)
        action = NULL;
    if (http->listening->is_local && !request_host_is_local(caller_header(&caller, "Host")))
        return reply_error(&caller, 421);
    if (action && strcmp(method, "POST") == 0)
        return begin_acting(http, connection, action, state);
    if (action) {
        answer_text(405, "the method is not allowed: this needs POST", &answer);
        answer.allow = "POST";
        return reply(&caller, &answer);
    }
    if (strcmp(path, "/api/session.json") == 0 && strcmp(method, "GET") == 0 &&
        !has_body(&caller)) {
        access_session(&http->access, &caller, &answer);
        return reply(&caller, &answer);
    }
    return begin_reading(http, connection, path, method, state);
}

static enum MHD_Result answer(struct http *http, struct exchange *exchange)
{
    const struct question *question = &exchange->question;
    int64_t arrived_ms = exchange->arrived_ms;
    struct caller caller = {http->library, exchange->connection};
    struct shown shown;
    struct answer answer;
    enum MHD_Result sent;
    int has_views;

    if (!answer_needs_views(question)) {
        answer_write(question, NULL, &answer);
        return reply(&caller, &answer);
    }
    /* The mutex ensures that the source wakes the exchange only when it is suspended. */
    pthread_mutex_lock(&http->mutex);
    has_views = source_get(http->source, answer_detail(question), question->name, arrived_ms,
                           http->is_ending ? arrived_ms : arrived_ms + WAIT_MS, &shown);
    if (!has_views) {
        http->library->MHD_suspend_connection(exchange->connection);
        exchange->next = http->suspended;
        http->suspended = exchange;
    }
    pthread_mutex_unlock(&http->mutex);
    if (!has_views)
        return MHD_YES;
    sent = reply_shared(http, exchange->connection, question, &shown);
    source_release(http->source, &shown);
    return sent;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* The actor calls it when the order has its answer. It may have changed something even if it has
   failed, unless it was refused. */
static void order_done(void *data)
{
    struct exchange *exchange = data;
    struct http *http = exchange->http;

    if (action_needs_operator(exchange->order->action) &&
        (exchange->answer.status == 200 || exchange->answer.status >= 500))
        source_changed(http->source);
    pthread_mutex_lock(&http->mutex);
    exchange->is_done = 1;
    http->library->MHD_resume_connection(exchange->connection);
    pthread_mutex_unlock(&http->mutex);
}

static enum MHD_Result reply_done(struct http *http, struct exchange *exchange)
{
    struct answer answer = exchange->answer;
    struct caller caller = {http->library, exchange->connection};

    exchange->answer = (struct answer){0}; /* libmicrohttpd frees the body */
    if (answer.status == 200 && !action_needs_operator(exchange->order->action))
        access_set_cookie(&http->access, &caller, exchange->order->session.id, &answer);
    return reply(&caller, &answer);
}

/* Returns why it is malformed; NULL: it is not. */
static const char *read_body(struct exchange *exchange)
{
    struct order *order = exchange->order;
    const char *why;

    if (strlen(exchange->text) != exchange->n_text)
        return "the body has a zero byte";
    why = order_read(order, exchange->text);
    if (why || action_needs_operator(order->action) || action_is_logout(order->action))
        return why;
    if (user_name_is_good(order->user) && *order->password)
        return NULL;
    return "user or password is missing, or user is malformed";
}

static enum MHD_Result obey(struct http *http, struct exchange *exchange)
{
    const struct action *action = exchange->order->action;
    struct session *session = &exchange->order->session;
    struct refusal refusal = {400, NULL};
    struct caller caller = {http->library, exchange->connection};

    if (exchange->is_done)
        return reply_done(http, exchange);
    if (exchange->is_given)
        return MHD_YES;
    refusal.why = read_body(exchange);
    if (refusal.why)
        return reply_refusal(&caller, &refusal);
    if (action_is_logout(action)) { /* at once: it waits for no order */
        sessions_end(&http->access.sessions, session->id);
        *session = (struct session){.id = ""};
        session_write(session, &exchange->answer);
        return reply_done(http, exchange);
    }
    /* The mutex ensures that the actor is done only when the connection is suspended. */
    pthread_mutex_lock(&http->mutex);
    exchange->is_given = !http->is_ending &&
                         actor_give(http->actor, exchange->order, &exchange->answer, exchange) == 0;
    if (exchange->is_given)
        http->library->MHD_suspend_connection(exchange->connection);
    pthread_mutex_unlock(&http->mutex);
    if (exchange->is_given)
        return MHD_YES;
    refusal = (struct refusal){503, "too many orders wait: try again"};
    return reply_refusal(&caller, &refusal);
}

static struct client *client_of(const struct http *http, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *is =
        http->library->MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return is ? is->socket_context : NULL;
}

/* libmicrohttpd calls it when the head has arrived, again to be answered, and again after a
   suspension. */
static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    struct http *http = data;
    struct exchange *exchange = *state != too_many ? *state : NULL;
    struct caller caller = {http->library, connection};

    (void)version;
    if (exchange && *upload_size > 0) {
        size_t room = ORDER_MOST - exchange->n_text, n = *upload_size < room ? *upload_size : room;

        if (exchange->order) { /* a part of the body, whose length was checked before */
            memcpy(exchange->text + exchange->n_text, upload, n);
            exchange->n_text += n;
        }
        *upload_size = 0;
        return MHD_YES;
    }
    if (exchange)
        return exchange->order ? obey(http, exchange) : answer(http, exchange);
    client_limit(&http->clients, client_of(http, connection), ANSWER_MS);
    return *state ? reply_error(&caller, 414) : begin(http, connection, path, method, state);
}

static void complete(void *data, struct MHD_Connection *connection, void **state,
                     enum MHD_RequestTerminationCode code)
{
    struct http *http = data;

    (void)code;
    if (*state && *state != too_many)
        free_exchange(*state);
    *state = NULL;
    client_limit(&http->clients, client_of(http, connection), HEAD_MS);
}

/* libmicrohttpd has memory for some 200 parameters, and never answers a request with more. It calls
   this before it reads them. If there are too many, this cuts them off, so that it finds none. */
static void *count_parameters(void *data, const char *uri, struct MHD_Connection *connection)
{
    char *query = strchr(uri, '?'); /* of a buffer that may be written */
    int n = 0;

    (void)data;
    (void)connection;
    for (const char *at = query; at; at = strchr(at + 1, '&'))
        n++;
    if (n <= PARAMETERS)
        return NULL;
    query[1] = '\0';
    return too_many;
}

/* Parameters are decoded by request_decode(), which finds zero bytes. */
static size_t keep_encoded(void *data, struct MHD_Connection *connection, char *text)
{
    (void)data;
    (void)connection;
    return strlen(text);
}

/* ---- connections ----------------------------------------------------------------------------- */

static enum MHD_Result admit(void *data, const struct sockaddr *address, socklen_t size)
{
    struct http *http = data;

    (void)size;
    return clients_admit(&http->clients, address) ? MHD_YES : MHD_NO;
}

static void connected(void *data, struct MHD_Connection *connection, void **client,
                      enum MHD_ConnectionNotificationCode code)
{
    struct http *http = data;
    const struct serve_library *library = http->library;

    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *client = client_open(
            &http->clients,
            library->MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
                ->connect_fd,
            library->MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
                ->client_addr,
            HEAD_MS);
    else
        client_close(&http->clients, *client);
}

/* ---- suspended requests ---------------------------------------------------------------------- */

/* Resumes those that arrived before this time. */
static void resume(struct http *http, int64_t before_ms)
{
    struct exchange **at = &http->suspended;

    pthread_mutex_lock(&http->mutex);
    while (*at) {
        struct exchange *exchange = *at;

        if (exchange->arrived_ms >= before_ms) {
            at = &exchange->next;
            continue;
        }
        *at = exchange->next;
        http->library->MHD_resume_connection(exchange->connection);
    }
    pthread_mutex_unlock(&http->mutex);
}

void http_wake(void *http)
{
    resume(http, ROWLOCK_NEVER);
}

void http_expire(struct http *http)
{
    resume(http, rowlock__now_ms() - WAIT_MS);
    clients_expire(&http->clients);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct http *http_open(const struct listening *listening, int may_probe,
                       const struct access_options *options)
{
    const struct serve_library *library = serve_library();
    struct http *http = library ? calloc(1, sizeof *http) : NULL;

    if (!http)
        return NULL;
    http->library = library;
    http->listening = listening;
    http->may_probe = may_probe;
    pthread_mutex_init(&http->mutex, NULL);
    clients_open(&http->clients);
    http->access.options = *options;
    snprintf(http->access.cookie, sizeof http->access.cookie, "rowlock_session%s%s",
             *listening->port ? "_" : "", listening->port);
    sessions_open(&http->access.sessions);
    return http;
}

int http_start(struct http *http, struct source *source)
{
    http->source = source;
    if (http->access.options.users) {
        http->actor = actor_open(http->access.options.users, &http->access.sessions, order_done);
        if (!http->actor)
            return out_of_memory();
    }
    http->daemon = http->library->MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, admit, http, handle, http,
        MHD_OPTION_LISTEN_SOCKET, http->listening->fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY,
        MHD_OPTION_NOTIFY_COMPLETED, complete, http, MHD_OPTION_NOTIFY_CONNECTION, connected, http,
        MHD_OPTION_URI_LOG_CALLBACK, count_parameters, http, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_encoded, NULL, MHD_OPTION_END);
    if (http->daemon)
        return STATUS_OK;
    actor_stop(http->actor);
    actor_free(http->actor);
    http->actor = NULL;
    message("libmicrohttpd could not start");
    return STATUS_FAILED;
}

void http_stop(struct http *http)
{
    if (!http || !http->daemon)
        return;
    pthread_mutex_lock(&http->mutex);
    http->is_ending = 1;
    pthread_mutex_unlock(&http->mutex);
    http->library->MHD_quiesce_daemon(http->daemon);
    actor_stop(http->actor);
    http_wake(http);
    http->library->MHD_stop_daemon(http->daemon);
    http->daemon = NULL;
}

void http_free(struct http *http)
{
    if (!http)
        return;
    pthread_mutex_destroy(&http->mutex);
    clients_close(&http->clients);
    actor_free(http->actor);
    sessions_close(&http->access.sessions);
    free(http);
}
