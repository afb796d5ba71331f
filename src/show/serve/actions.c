/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/actions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/exit_status.h"
#include "command/job_name.h"
#include "command/output/json.h"
#include "command/output/words.h"
#include "command/url_lookup.h"
#include "util/duration.h"

#define STATEMENT_MS 5000

/* An order that is carried out, with the parts of its answer. */
struct acting {
    const struct order *order;
    struct rowlock_connection *connection;
    struct rowlock_error error;
    int64_t token, lasts_ms;                          /* of the order; 0: none */
    char lock[REQUEST_NAME + sizeof JOB_LOCK_PREFIX]; /* the name of the lease */
    unsigned status;                                  /* 0: as the error says */
    const char *why;                                  /* of the status */
    int64_t n; /* leases that it broke; the token of a hold */
};

typedef int act_function(struct acting *acting); /* nonzero: it failed, and `acting` says why */

struct action {
    const char *path;
    act_function *act; /* NULL: a login or logout */
    int of_job;        /* the name is a job's */
    int needs_note, needs_token, is_logout;
    const char *member; /* of the answer: the name of acting.n */
    const char *did;    /* for the message */
};

static int refuse(struct acting *acting, unsigned status, const char *why)
{
    acting->status = status;
    acting->why = why;
    return -1;
}

/* ---- leases and jobs ------------------------------------------------------------------------- */

struct looking {
    int64_t token;
    int is_held, is_hold;
};

static int look(const struct rowlock_holder *holder, void *data)
{
    struct looking *looking = data;

    if (holder->holding != ROWLOCK_HOLDS || holder->token != looking->token)
        return 0;
    looking->is_held = 1;
    looking->is_hold = is_hold(holder);
    return 1;
}

static int is_known(const struct rowlock_job_view *job, void *data)
{
    (void)job;
    *(int *)data = 1;
    return 1;
}

static int find_job(struct acting *acting)
{
    int known = 0;

    if (rowlock_jobs(acting->connection, acting->order->name, is_known, &known, &acting->error))
        return -1;
    return known ? 0 : refuse(acting, 404, "no such job is known: no node has asked for it");
}

/* ---- the actions ----------------------------------------------------------------------------- */

static int act_break(struct acting *acting)
{
    if (rowlock_break(acting->connection, acting->lock, acting->token, acting->order->now,
                      &acting->n, &acting->error))
        return -1;
    return acting->n ? 0 : refuse(acting, 404, "there is no such lease: nothing to break");
}

static int act_hold(struct acting *acting)
{
    char command[sizeof HOLD_BY + USER_SIZE];
    struct rowlock_want want = {.name = acting->lock, .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_terms terms = {.ttl_ms =
                                      acting->lasts_ms ? acting->lasts_ms : ROWLOCK_UNTIL_RELEASED,
                                  .note = acting->order->note,
                                  .command = command,
                                  .no_process = 1};
    struct rowlock_lease *lease = NULL;

    snprintf(command, sizeof command, HOLD_BY "%s", acting->order->session.user);
    if (rowlock_acquire(acting->connection, &want, 1, &terms, &lease, &acting->error))
        return -1;
    acting->n = rowlock_token(lease);
    rowlock_lease_free(lease);
    return 0;
}

/* The lease of a hold has no process that would learn of a break, and the history must name who has
   ended it: so it is broken, and not released. */
static int act_release(struct acting *acting)
{
    struct looking looking = {.token = acting->token};

    if (rowlock_list(acting->connection, acting->lock, look, &looking, &acting->error))
        return -1;
    if (!looking.is_held)
        return refuse(acting, 404, "there is no such hold: it has ended");
    if (!looking.is_hold)
        return refuse(acting, 409, "this is not a hold: a process works under it; break it");
    if (rowlock_break(acting->connection, acting->lock, acting->token, 1, &acting->n,
                      &acting->error))
        return -1;
    return acting->n ? 0 : refuse(acting, 404, "there is no such hold: it has ended");
}

static int act_run(struct acting *acting)
{
    if (find_job(acting))
        return -1;
    return rowlock_hasten_job(acting->connection, acting->order->name, &acting->error);
}

static int act_pause(struct acting *acting)
{
    return find_job(acting) ? -1 : act_hold(acting);
}

static const struct action actions[] = {
    {"/api/login", NULL, 0, 0, 0, 0, NULL, NULL},
    {"/api/logout", NULL, 0, 0, 0, 1, NULL, NULL},
    {"/api/break", act_break, 0, 0, 0, 0, "broken", "broke"},
    {"/api/hold", act_hold, 0, 1, 0, 0, "token", "holds"},
    {"/api/release", act_release, 0, 0, 1, 0, "released", "released the hold of"},
    {"/api/run", act_run, 1, 0, 0, 0, NULL, "made due now the job"},
    {"/api/pause", act_pause, 1, 1, 0, 0, "token", "paused the job"},
    {"/api/resume", act_release, 1, 0, 1, 0, "released", "resumed the job"},
};

const struct action *action_of(const char *path)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].path, path) == 0)
            return &actions[i];
    return NULL;
}

int action_needs_operator(const struct action *action)
{
    return action->act != NULL;
}

/* ---- an order -------------------------------------------------------------------------------- */

static int read_order(struct acting *acting)
{
    const struct order *order = acting->order;
    char why[160], *end;

    if (!*order->name)
        return refuse(acting, 400, "name is missing");
    if (order->action->of_job && job_name_check(order->name, why, sizeof why))
        return refuse(acting, 400, "this cannot be the name of a job");
    if (order->action->needs_note && strspn(order->note, " \t\r\n") == strlen(order->note))
        return refuse(acting, 400, "note is missing: it is shown to callers that are refused");
    snprintf(acting->lock, sizeof acting->lock, "%s%s",
             order->action->of_job ? JOB_LOCK_PREFIX : "", order->name);
    errno = 0;
    acting->token = *order->token ? strtoll(order->token, &end, 10) : 0;
    if (*order->token &&
        (errno || *end || acting->token <= 0 || strspn(order->token, "0123456789") == 0))
        return refuse(acting, 400, "token is not a token");
    if (order->action->needs_token && !acting->token)
        return refuse(acting, 400, "token is missing");
    if (*order->lasts &&
        (rowlock__duration(order->lasts, 1000, &acting->lasts_ms) || acting->lasts_ms < 1000))
        return refuse(acting, 400, "for is not a duration of at least 1s (90s, 5m, 1h30m)");
    return 0;
}

void act(const struct order *order, int interrupt_fd, struct answer *out)
{
    struct rowlock_options options = {.connect_ms = STATEMENT_MS,
                                      .statement_ms = STATEMENT_MS,
                                      .interrupt_fd = interrupt_fd,
                                      .user = order->session.user};
    struct acting acting = {.order = order};
    int failed = read_order(&acting), code;
    FILE *body;

    if (!failed)
        failed = open_database(&options, &acting.connection, &acting.error);
    if (!failed)
        failed = order->action->act(&acting);
    rowlock_close(acting.connection);
    if (failed && acting.status) {
        answer_text(acting.status, acting.why, out);
        return;
    }
    if (failed) {
        code = acting.error.code;
        answer_text(code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ELIMIT
                        ? 409
                    : code == ROWLOCK_EINVAL                       ? 400
                    : is_outage(code) || code == ROWLOCK_ECANCELED ? 503
                                                                   : 500,
                    acting.error.text, out);
        return;
    }
    message("%s (%s) %s '%s'", order->session.user, order->from, order->action->did, order->name);
    *out = (struct answer){.status = 200, .type = "application/json", .age_s = -1};
    body = open_memstream(&out->body, &out->size);
    if (!body)
        return;
    fputs("{\"name\":", body);
    json_text(body, order->name);
    if (order->action->member)
        fprintf(body, ",\"%s\":%" PRId64, order->action->member, acting.n);
    fputs(",\"by\":", body);
    json_text(body, order->session.user);
    fputs("}\n", body);
    fclose(body);
}

int action_is_logout(const struct action *action)
{
    return action->is_logout;
}
