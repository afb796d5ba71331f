/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_acquire: performs the steps of the acquire machine, and reports the result. */
#include <stdio.h>
#include <string.h>

#include "lease/lease.h"
#include "lease/request.h"
#include "lock/refusal.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"
#include "util/random.h"
#include "util/renewal.h"

#define ON_WAIT_MS 10000
#define SETTLE_MS 300 /* added to the end of a wait, to learn whether a cancelled try was granted */

#define LATE "'%.100s' was granted, but lost before it could be used; acquire it again"

struct acquisition {
    struct rowlock_request request;
    struct rowlock_acquire_machine machine;
    int64_t sent_ms; /* of the successful grant, or of the first one whose reply was lost */
    enum rowlock_status status;        /* of the last refusal */
    struct rowlock_refused refused;    /* and its name and detail */
    struct rowlock_error why;          /* the last failure; none after a step that succeeded */
    bool cut;                          /* a try was cancelled, perhaps after its COMMIT */
    const struct rowlock_terms *terms; /* the caller's; may be NULL */
    bool reported;                     /* on_disconnect was called in this outage */
    int64_t call_ms;                   /* when on_wait is due */
    struct rowlock_lease *lease;       /* to be filled in after the grant */
};

/* ---- performing a step ----------------------------------------------------------------------- */

/* Before a step is sent. The technique decides whether a try may wait. And we must be able to end a
   session that we lose: the server may not have read its request yet, and would later grant a lease
   that no caller has. */
static int make_ready(struct acquisition *a, const struct rowlock_step *step,
                      struct rowlock_error *error)
{
    struct rowlock_connection *connection = a->request.connection;
    bool grants = step->act == ROWLOCK_ACT_GRANT;
    int code = ROWLOCK_OK;

    if (grants || step->act == ROWLOCK_ACT_ENQUEUE)
        code = rowlock__check_installed(connection, error);
    if (!code)
        code = rowlock__learn_session(connection, error);
    if (!code && grants && !step->ticket)
        code = rowlock__verify(connection, NULL, error);
    if (!code && (grants || step->act == ROWLOCK_ACT_TURN) &&
        !(a->machine.unsure && a->sent_ms)) /* 0: the session was lost before one was sent */
        a->sent_ms = rowlock__now_ms();
    return code;
}

/* Whether on_wait ends the wait, before a step that waits. */
static bool caller_ends(struct acquisition *a, const struct rowlock_step *step)
{
    bool waits = step->act == ROWLOCK_ACT_PAUSE || step->act == ROWLOCK_ACT_AWAIT ||
                 step->act == ROWLOCK_ACT_TURN;

    if (!waits || a->machine.in.tries || a->machine.lost_since_ms || !a->terms ||
        !a->terms->on_wait || rowlock__now_ms() < a->call_ms)
        return false;
    a->call_ms = rowlock__now_ms() + ON_WAIT_MS;
    return a->terms->on_wait(a->terms->data) != 0;
}

/* After a step was sent. */
static void note_answer(struct acquisition *a, const struct rowlock_step *step,
                        const struct rowlock_reply *reply, const struct rowlock_refused *refused)
{
    if (reply->sent_ms)
        a->sent_ms = reply->sent_ms;
    if (!reply->code && reply->status != ROWLOCK_STATUS_OK) {
        a->status = reply->status;
        a->refused = *refused;
    }
    a->cut |=
        reply->code && step->act == ROWLOCK_ACT_GRANT && step->limit_ms == 0 && !a->request.hook;
}

/* Once per outage, when reconnecting has failed, or led to a server that only reads, and will be
   retried. */
static void report_disconnect(struct acquisition *a, const struct rowlock_step *done,
                              const struct rowlock_step *next)
{
    a->reported = a->reported && a->machine.lost_since_ms;
    if (a->reported || a->machine.in.tries || next->act != ROWLOCK_ACT_PAUSE ||
        (done->act != ROWLOCK_ACT_RECONNECT && !a->machine.left))
        return;
    a->reported = true;
    if (a->terms && a->terms->on_disconnect)
        a->terms->on_disconnect(&a->why, a->terms->data);
}

struct own {
    const char *owner;
    int64_t token;
};

static void own_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct own *own = data;
    char owner[ROWLOCK_OWNER_SIZE];

    if (n < 6)
        return;
    rowlock__column_text(&columns[5], owner, sizeof owner);
    if (strcmp(owner, own->owner) == 0)
        own->token = rowlock__value_number(&columns[3]);
}

/* Repeats a statement that was cancelled. Without the privilege PROCESS, MariaDB may report the
   cancel of a list as EDENIED: it executes no handler of a procedure that is cancelled. */
static int ask_past_cancels(struct rowlock_connection *connection, enum rowlock_statement_id id,
                            const struct rowlock_value *values, rowlock_row *row, void *data)
{
    int64_t deadline_ms = rowlock__budget(connection).deadline_ms;
    int code, denials = 0;

    do {
        code = rowlock__ask(connection, id, values, row, data, NULL);
        denials += code == ROWLOCK_EDENIED;
    } while ((code == ROWLOCK_EDENIED && denials == 1) ||
             rowlock__was_cancelled(connection, code, deadline_ms));
    return code;
}

/* A procedure commits by itself, and may be cancelled between its COMMIT and its answer. Releases
   the lease that it granted, because no caller has its token. */
static void release_unreported(struct acquisition *a)
{
    struct rowlock_connection *connection = a->request.connection;
    const char *name = a->request.want->name;
    struct rowlock_value text = rowlock__text_value(name), values[4];
    struct own own = {.owner = a->request.owner};
    int interrupt_fd = connection->interrupt_fd, code;

    if (!a->cut || a->machine.code == ROWLOCK_OK || !connection->dialect->procedural ||
        rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        return;
    connection->interrupt_fd = -1;
    code = ask_past_cancels(connection, ROWLOCK_SQL_LIST, &text, own_row, &own);
    values[0] = rowlock__int_value(own.token);
    values[1] = text;
    values[2] = rowlock__text_value(own.owner);
    values[3] = rowlock__int_value(0);
    if (!code && own.token)
        code = ask_past_cancels(connection, ROWLOCK_SQL_RELEASE, values, NULL, NULL);
    /* refused alike, the try has granted nothing */
    a->machine.unsure |= code && (code != ROWLOCK_EDENIED || a->machine.code != code);
    connection->interrupt_fd = interrupt_fd;
}

/* ---- the error's text ------------------------------------------------------------------------ */

static void add(struct rowlock_error *error, const char *what)
{
    size_t length = strlen(error->text);

    snprintf(error->text + length, sizeof error->text - length, "%s", what);
}

static int say_held(struct acquisition *a, struct rowlock_error *error)
{
    struct rowlock_connection *connection = a->request.connection;
    struct rowlock_wants wants = {.want = a->request.want, .n = a->request.n};
    struct rowlock_answer answer = {.status = a->status, .owner = a->request.owner};
    int code;

    if (answer.status != ROWLOCK_STATUS_QUEUED)
        answer.status = ROWLOCK_STATUS_TIMEDOUT;
    snprintf(answer.name, sizeof answer.name, "%s", a->refused.name);
    if (rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        connection = NULL;
    if (!answer.name[0])
        rowlock__find_held(&answer, &wants, connection);
    code = rowlock__refuse(&answer, a->machine.in.tries ? 0 : 1, connection, 0, error);
    add(error, a->machine.in.tries ? "; try again later, or wait for it"
                                   : ": wait longer, or ask its holder");
    return code;
}

static int say(struct acquisition *a, struct rowlock_error *error)
{
    struct rowlock_answer answer = {.status = ROWLOCK_STATUS_LIMIT};
    const char *name = a->request.want->name;
    /* KILL QUERY on MariaDB; an interrupt of the caller's may be reported in the same way */
    bool by_server = a->why.code == ROWLOCK_ECANCELED && a->why.sqlstate[0] &&
                     !rowlock__was_interrupted(a->request.connection);

    if (rowlock_is_full(&a->why) &&
        (a->machine.code == ROWLOCK_EBUSY || a->machine.code == ROWLOCK_ETIMEDOUT))
        a->machine.code = ROWLOCK_ECONN; /* no holder is known */
    switch (a->machine.code) {
    case ROWLOCK_OK:
    case ROWLOCK_DECLINED:
        return ROWLOCK_OK;
    case ROWLOCK_EBUSY:
    case ROWLOCK_ETIMEDOUT:
        return say_held(a, error);
    case ROWLOCK_ECANCELED:
        rowlock__fail(error, ROWLOCK_ECANCELED,
                      "%s while waiting for '%.100s'; acquire it again to wait further",
                      by_server ? "the server cancelled the statement" : "interrupted", name);
        break;
    case ROWLOCK_ELIMIT:
        snprintf(answer.name, sizeof answer.name, "%s", a->refused.name);
        snprintf(answer.detail, sizeof answer.detail, "%s", a->refused.detail);
        return rowlock__refuse(&answer, 0, NULL, 0, error);
    default:
        *error = a->why;
        error->code = a->machine.code;
        rowlock__wrap_error(error, error->code, "acquiring '%.100s'", name);
    }
    if (a->machine.unsure)
        add(error, "; it may have been granted, and then expires after its ttl");
    return a->machine.code;
}

/* ---- after the grant ------------------------------------------------------------------------- */

/* Makes the lease, and renews it before use if its request was sent too long ago. */
static int take_over(struct acquisition *a, struct rowlock_lease *lease,
                     struct rowlock_error *error)
{
    struct rowlock_connection *connection = a->request.connection;
    int64_t now = rowlock__now_ms(), ttl_ms = a->request.ttl_ms;
    enum rowlock_status status = ROWLOCK_STATUS_OK;
    int code;

    lease->token = a->machine.token;
    memcpy(lease->owner, a->request.owner, sizeof lease->owner);
    atomic_store(&lease->ttl_ms, ttl_ms);
    rowlock__lease_renewed(lease, a->sent_ms, ttl_ms);
    atomic_store(&lease->simple, a->request.n == 1 && !a->machine.ticket.queued &&
                                     a->request.want[0].mode == ROWLOCK_EXCLUSIVE);
    if (!rowlock__is_late_grant(ttl_ms, a->sent_ms, now))
        return ROWLOCK_OK;
    code = rowlock__renew_once(lease, connection, ttl_ms,
                               rowlock__after(now, connection->statement_ms), &status, error);
    if (!code && status == ROWLOCK_STATUS_OK)
        return ROWLOCK_OK;
    if (code && rowlock_remaining(lease) > 0)
        return ROWLOCK_OK; /* the next renewal tries again */
    if (code)
        rowlock__wrap_error(error, code, LATE " (its renewal failed)", a->request.want->name);
    else
        rowlock__fail(error, ROWLOCK_ELOST, LATE, a->request.want->name);
    error->code = ROWLOCK_ELOST;
    rowlock_release(lease, NULL);
    return ROWLOCK_ELOST;
}

/* ---- the call -------------------------------------------------------------------------------- */

static int check_schema(const struct acquisition *a, struct rowlock_error *error)
{
    struct rowlock_connection *connection = a->request.connection;
    int code;

    if (rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        return ROWLOCK_OK;
    code = rowlock__check_installed(connection, error);
    code = rowlock__given_up(connection, code, error);
    if (code == ROWLOCK_ECONN && (rowlock__can_reconnect(connection) || rowlock_is_full(error)))
        return ROWLOCK_OK; /* the machine repeats it */
    for (size_t i = 0; !code && i < a->request.n; i++)
        code = rowlock__check_width(connection, a->request.want[i].name, error);
    return code;
}

static void set_machine(struct acquisition *a, int64_t wait_ms, int64_t deadline_ms)
{
    const struct rowlock_connection *connection = a->request.connection;

    a->machine = (struct rowlock_acquire_machine){
        .in =
            {
                .tries = wait_ms == 0,
                .deadline_ms = deadline_ms,
                .remote = connection->dialect->procedural,
                .seizes =
                    connection->dialect->procedural && !rowlock__sql(connection, ROWLOCK_SQL_BEGIN),
                .turns = rowlock__sql(connection, ROWLOCK_SQL_TURN) && a->request.n == 1 &&
                         a->request.want[0].mode == ROWLOCK_EXCLUSIVE,
                .reconnect_ms =
                    rowlock__can_reconnect(connection)
                        ? (connection->connect_ms < 0 ? ROWLOCK_NEVER : connection->connect_ms)
                        : 0,
                .moves = rowlock__can_move(connection),
            },
    };
    for (size_t i = 0; i < a->request.n; i++)
        a->machine.in.permits |= a->request.want[i].mode == ROWLOCK_PERMIT;
}

/* Before the first step: checks the connection, the request and the schema. */
static int prepare(struct acquisition *a, struct rowlock_connection *connection,
                   const struct rowlock_want *wants, size_t n, rowlock_grant_hook *hook,
                   void *hook_data, struct rowlock_error *error)
{
    int64_t wait_ms = a->terms ? a->terms->wait_ms : 0;
    int64_t deadline_ms = rowlock__after(rowlock__now_ms(), wait_ms);
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (code == ROWLOCK_ECONN && rowlock__can_reconnect(connection))
        code = ROWLOCK_OK; /* the first step will find the loss, and the machine will reconnect */
    if (!code && rowlock__was_interrupted(connection))
        code = rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted before anything was sent");
    if (code)
        return code;
    rowlock__clear_error(error);
    code = rowlock__request_init(&a->request, connection, wants, n, a->terms, error);
    a->request.hook = hook;
    a->request.hook_data = hook_data;
    if (code)
        return code;
    if (wait_ms > 0)
        rowlock__wait_begins(connection, deadline_ms);
    code = check_schema(a, error);
    if (!code) /* before the grant: a failure loses no lease */
        code = rowlock__lease_new(connection, a->request.want, a->request.n, &a->lease, error);
    if (!code) {
        set_machine(a, wait_ms, deadline_ms);
        return ROWLOCK_OK;
    }
    rowlock__wait_ends(connection);
    return code;
}

/* After the last step: the result for the caller. */
static int conclude(struct acquisition *a, struct rowlock_error *error)
{
    struct rowlock_connection *connection = a->request.connection;
    int64_t *marked;
    int code;

    release_unreported(a);
    code = say(a, error);
    rowlock__wait_ends(connection);
    if (!code && a->machine.code == ROWLOCK_OK) {
        /* this session has the token's session lock; servers without TURN note it themselves */
        marked = rowlock__mark_of(connection, 0);
        if (marked && rowlock__sql(connection, ROWLOCK_SQL_TURN))
            *marked = a->machine.token;
        code = take_over(a, a->lease, error);
    }
    if (code || a->machine.code == ROWLOCK_DECLINED) {
        rowlock__lease_delete(a->lease);
        a->lease = NULL;
    }
    return code;
}

/* Performs the machine's steps until it is done. */
int rowlock__acquire_with(struct rowlock_connection *connection, const struct rowlock_want *wants,
                          size_t n, const struct rowlock_terms *terms, rowlock_grant_hook *hook,
                          void *hook_data, struct rowlock_lease **out, struct rowlock_error *error)
{
    struct acquisition a = {.terms = terms};
    struct rowlock_acquire_machine *m = &a.machine;
    struct rowlock_step step = {.act = ROWLOCK_ACT_DONE}, next;
    struct rowlock_error unseen;
    int code;

    error = error ? error : &unseen;
    code = prepare(&a, connection, wants, n, hook, hook_data, error);
    if (!code)
        step = rowlock__acquire_start(m, rowlock__now_ms());
    a.call_ms = rowlock__now_ms() + ON_WAIT_MS;
    for (; step.act != ROWLOCK_ACT_DONE; step = next) {
        int64_t deadline_ms = m->in.tries ? ROWLOCK_NEVER : m->in.deadline_ms, until_ms;
        struct rowlock_reply reply = {0};
        struct rowlock_refused refused = {0};
        struct rowlock_error why = {0};
        bool last = step.act == ROWLOCK_ACT_WITHDRAW || step.act == ROWLOCK_ACT_SESSION_UNLOCK;
        bool ended = caller_ends(&a, &step), asks = false;

        if (ended) {
            reply.code = ROWLOCK_ECANCELED;
        } else if (step.act == ROWLOCK_ACT_PAUSE) {
            if (rowlock__wait_fd(-1, 0, connection->interrupt_fd,
                                 rowlock__after(rowlock__now_ms(), step.limit_ms)) ==
                ROWLOCK_WAKE_INTERRUPT)
                reply.code = rowlock__fail(&why, ROWLOCK_ECANCELED, "interrupted");
        } else if (step.act == ROWLOCK_ACT_RECONNECT) {
            until_ms = m->in.tries ? rowlock__after(m->lost_since_ms, m->in.reconnect_ms)
                                   : m->in.deadline_ms;
            if (m->unsure) /* it may have been granted */
                until_ms = rowlock__most(until_ms, rowlock__now_ms() + SETTLE_MS);
            reply.code = rowlock__reconnect(connection, until_ms, &why);
        } else {
            asks = true;
            reply.code = make_ready(&a, &step, &why);
            if (!reply.code) {
                rowlock__execute(&a.request, &step, deadline_ms, &reply, &refused, &why);
                if (!rowlock__had_no_room(connection, reply.code, &why))
                    note_answer(&a, &step, &reply, &refused);
            }
            if (rowlock__had_no_room(connection, reply.code, &why))
                reply.code = ROWLOCK_EABORTED; /* the server has no memory: ask it again */
            reply.code = rowlock__given_up(connection, reply.code, &why);
        }
        if ((reply.code || asks) && !last && !ended)
            a.why = why;
        next = rowlock__acquire_next(m, rowlock__now_ms(), &reply, rowlock__dice());
        report_disconnect(&a, &step, &next);
    }
    if (!code)
        code = conclude(&a, error);
    if (!code)
        *out = a.lease;
    rowlock__request_clear(&a.request);
    return code;
}

int rowlock_acquire(struct rowlock_connection *connection, const struct rowlock_want *wants,
                    size_t n, const struct rowlock_terms *terms, struct rowlock_lease **out,
                    struct rowlock_error *error)
{
    return rowlock__acquire_with(connection, wants, n, terms, NULL, NULL, out, error);
}
