/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in renews the lease while job control stops the command and rowlock together. It is a
 * process of its own, by exec, because a client library must not be used on both sides of a fork.
 * The guard starts it, and ends it by KILL.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "command/url_lookup.h"
#include "guard/guard.h"
#include "run/supervise/child.h"
#include "run/supervise/holding.h"
#include "run/supervise/run_options.h"
#include "run/supervise/times.h"
#include "system/command/calls.h"
#include "util/clock.h"
#include "util/random.h"
#include "util/renewal.h"

/* ---- in the guard's child -------------------------------------------------------------------- */

void become_stand_in(void *data, int fd)
{
    const struct child *child = data;
    const struct lock_options *lock = &child->run->lock;
    char token[40], ttl[40], urls[40], orders[40];
    char *argv[] = {"rowlock", "renew", token, ttl, urls, orders, "--", NULL, NULL};
    int url_fd = send_database();

    if (url_fd < 0 || fcntl(url_fd, F_SETFD, 0) || fcntl(fd, F_SETFD, 0)) {
        message("cannot renew the lease on '%s' while the command is stopped: %s",
                lock->wants[0].name, strerror(errno));
        return;
    }
    snprintf(token, sizeof token, "--token=%" PRId64, rowlock_token(child->holding->lease));
    snprintf(ttl, sizeof ttl, "--ttl=%" PRId64 "ms", lock->ttl_ms);
    snprintf(urls, sizeof urls, "--url-fd=%d", url_fd);
    snprintf(orders, sizeof orders, "--guard-fd=%d", fd);
    argv[7] = (char *)lock->wants[0].name;
    execute_again(argv);
    message("cannot start this program again (" THIS_PROGRAM "): %s", strerror(errno));
}

/* ---- the process ----------------------------------------------------------------------------- */

struct renewing {
    const struct stand_in_argument *argument;
    struct rowlock_connection *connection;
    struct rowlock_lease *lease;
    struct rowlock_renewal renewal;
    struct rowlock_error error;
};

/* Renews, and reports the result. Returns the next step. */
static struct rowlock_renewal_step renew_once(struct renewing *renewing)
{
    const struct stand_in_argument *argument = renewing->argument;
    int code = ROWLOCK_OK, failed_before = renewing->renewal.pause_ms != 0;
    struct rowlock_renewal_step step;
    int64_t now, end;

    if (!renewing->lease)
        code = rowlock_adopt(renewing->connection, argument->name, argument->token,
                             &renewing->lease, &renewing->error);
    if (!code)
        code = rowlock_renew(renewing->lease, argument->ttl_ms, &renewing->error);
    now = rowlock__now_ms();
    end = end_of_lease(renewing->lease);
    step = rowlock__renewal_next(&renewing->renewal, now, end, code, rowlock__dice());
    if (!code)
        guard_give(argument->guard_fd, GUARD_EXTEND, end - margin_for_kill(argument->ttl_ms));
    else if (step.act == ROWLOCK_RENEWAL_SLEEP && !failed_before)
        message("could not renew the lease on '%s' while the command is stopped, trying again: %s",
                argument->name, renewing->error.text);
    return step;
}

static struct rowlock_renewal_step renew_now(struct renewing *renewing)
{
    /* before it is adopted only the guard knows its end */
    return rowlock__renewal_now(&renewing->renewal, rowlock__now_ms(),
                                end_of_lease(renewing->lease));
}

/* Until the lease is lost, or the guard is gone. */
static void keep_renewing(struct renewing *renewing)
{
    struct rowlock_renewal_step step = renew_now(renewing);
    const char *why = renewing->error.text;
    size_t length;

    while (step.act != ROWLOCK_RENEWAL_LOST) {
        if (step.act == ROWLOCK_RENEWAL_SEND)
            step = renew_once(renewing);
        else if (rowlock__wait_fd(renewing->argument->guard_fd, POLLIN, -1, step.until_ms) ==
                 ROWLOCK_WAKE_READY)
            return;
        else
            step = renew_now(renewing);
    }
    if (!*why)
        why = "it was not renewed in time";
    length = renewing->renewal.code == ROWLOCK_ELOST ? strcspn(why, ";") : strlen(why);
    message("the lock on '%s' is lost while the command is stopped, ending it: %.*s",
            renewing->argument->name, (int)length, why);
    guard_give(renewing->argument->guard_fd, GUARD_END, 0);
}

int stand_in(const struct stand_in_argument *argument)
{
    struct renewing renewing = {.argument = argument, .renewal.ttl_ms = argument->ttl_ms};
    struct run run = {.lock = {.ttl_ms = argument->ttl_ms}};
    struct approach approach = {.deadline_ms = rowlock__after(rowlock__now_ms(), argument->ttl_ms),
                                .statement_ms = statement_limit(&run)};
    struct url url = url_receive(argument->url_fd);
    int status = STATUS_FAILED;

    name_this_process("rowlock-stand-in");
    if (url.text)
        status = connect_database(&url, &approach, &renewing.connection);
    else
        message("cannot read the URL of the database");
    url_free(&url);
    if (!status)
        keep_renewing(&renewing);
    rowlock_lease_free(renewing.lease);
    rowlock_close(renewing.connection);
    return status;
}
