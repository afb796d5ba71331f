/* SPDX-License-Identifier: Apache-2.0 */
/* The verb serve: a page about locks, jobs and subjects for a browser, documents for scripts. */
#include "command/command.h"

#ifdef ROWLOCK_WITH_MICROHTTPD

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "command/notify.h"
#include "command/signals.h"
#include "command/url_lookup.h"
#include "show/serve/http.h"
#include "util/clock.h"

#define LOOK_MS 1000 /* how often suspended requests are looked at */
#define FIRST_LOOK_MS 20

struct serving {
    const char *address;
    int allow_remote;
    struct access_options access;
    struct url url;
    struct signals signals;
    struct listening listening;
    struct notify notify;
    struct http *http;
    struct source *source;
    char status[700]; /* the last that the service manager got */
};

static const struct option_row options[] = {
    {"listen", 0, required_argument, set_text, offsetof(struct serving, address), 0, 0},
    {"allow-remote", 0, no_argument, set_flag, offsetof(struct serving, allow_remote), 0, 0},
    {"allow-actions", 0, no_argument, set_flag, offsetof(struct serving, access.may_act), 0, 0},
    {"require-login", 0, no_argument, set_flag, offsetof(struct serving, access.must_log_in), 0, 0},
    {"users", 0, required_argument, set_text, offsetof(struct serving, access.users), 0, 0},
    {"user-header", 0, required_argument, set_text, offsetof(struct serving, access.header), 0, 0},
    {"proxy", 0, required_argument, set_text, offsetof(struct serving, access.proxies), 0, 0},
    {0}};

/* The same text is not sent twice, except with a new state. */
static void tell(struct serving *serving, const char *state)
{
    struct rowlock_error error;
    int failed = source_error(serving->source, &error);
    char text[600], lines[700];

    escape_controls(failed ? error.text : serving->listening.where, text, sizeof text);
    snprintf(lines, sizeof lines, "%sSTATUS=%s%s%s", state,
             failed ? outage_text(failed) : "serving on ", failed ? ": " : "", text);
    if (!*state && strcmp(lines, serving->status) == 0)
        return;
    strcpy(serving->status, lines + strlen(state));
    notify_send(&serving->notify, lines);
}

static int has_ended(const struct serving *serving, int wait_ms)
{
    return rowlock__is_readable(serving->signals.wait_fd, wait_ms);
}

/* Until a signal. */
static void live(struct serving *serving)
{
    int64_t every_ms = serving->notify.alive_every_ms;
    int wait_ms = every_ms && every_ms < LOOK_MS ? (int)every_ms : LOOK_MS;

    tell(serving, "READY=1\n");
    while (!has_ended(serving, wait_ms)) {
        http_expire(serving->http);
        tell(serving, "");
        if (every_ms)
            notify_send(&serving->notify, "WATCHDOG=1");
    }
    tell(serving, "STOPPING=1\n");
}

static int serve(struct serving *serving)
{
    const char *dialect = url_dialect(&serving->url);
    struct rowlock_error error;
    int status;

    serving->http =
        http_open(&serving->listening,
                  !dialect || (strcmp(dialect, "mariadb") != 0 && strcmp(dialect, "mysql") != 0),
                  &serving->access);
    if (!serving->http)
        return STATUS_UNAVAILABLE;
    serving->source = source_open(http_wake, serving->http);
    if (!serving->source)
        return out_of_memory();
    while (!source_has_asked(serving->source))
        if (has_ended(serving, FIRST_LOOK_MS))
            return STATUS_OK;
    /* A database that is away may come back; any other failure of the first queries is a mistake in
       the installation, for the person who starts this. */
    if (is_outage(source_error(serving->source, &error)))
        message("the database does not answer: %s; trying again", error.text);
    else if (error.code)
        return report(&error);
    status = http_start(serving->http, serving->source);
    if (!status) {
        message("serving on %s", serving->listening.where);
        live(serving);
    }
    return status;
}

int cmd_serve(struct command *command)
{
    struct serving serving = {.address = SERVE_ADDRESS, .listening.fd = -1};
    int status;

    scan_own_options(command, options, &serving);
    read_operands(command, 0);
    if (command->json)
        usage_error(command,
                    "serve prints no JSON; its documents are at /api/ls.json, "
                    "/api/jobs.json, /api/subjects.json, /api/log.json and /api/overview.json");
    status = access_check(&serving.access);
    if (!status)
        status = url_lookup(command->db, &serving.url);
    if (!status)
        status = url_must_exist(&serving.url);
    if (!status)
        status = listen_open(serving.address, serving.allow_remote, &serving.listening);
    if (!status)
        status = prepare_database(&serving.url);
    notify_open(&serving.notify);
    if (!status && signals_open(&serving.signals)) {
        message("cannot read signals");
        status = STATUS_FAILED;
    }
    if (!status)
        status = serve(&serving);
    http_stop(serving.http);
    source_close(serving.source);
    http_free(serving.http);
    listen_close(&serving.listening);
    notify_close(&serving.notify);
    url_free(&serving.url);
    return status;
}

#else

int cmd_serve(struct command *command)
{
    message("this build lacks serve: install libmicrohttpd-dev and build rowlock again");
    (void)command;
    return STATUS_UNAVAILABLE;
}

#endif
