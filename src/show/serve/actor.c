/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that carries out orders, and logins, which take a part of a second each. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/json.h"
#include "command/output/output.h"
#include "show/serve/actions.h"
#include "system/system.h"
#include "util/bytes.h"
#include "util/clock.h"

#define ORDERS 16        /* at most, that wait */
#define LONGEST_MS 20000 /* of waiting: its client gives up soon, and may think that it failed */

struct task {
    struct order *order;
    struct answer *out;
    void *data;
};

struct actor {
    const char *users;
    struct sessions *sessions;
    void (*done)(void *data);
    struct rowlock_wakeup end, woken;
    pthread_t thread;

    pthread_mutex_t mutex; /* protects everything below */
    struct task tasks[ORDERS];
    size_t n;
    int has_ended;
};

/* ---- one order ------------------------------------------------------------------------------- */

void session_write(const struct session *session, struct answer *out)
{
    FILE *body;

    *out = (struct answer){.status = 200, .type = "application/json", .age_s = -1};
    body = open_memstream(&out->body, &out->size);
    if (!body)
        return;
    fputs("{\"user\":", body);
    json_text(body, session->user);
    fputs(",\"role\":", body);
    json_text(body, role_text(session->role));
    fputs(",\"token\":", body);
    json_text(body, session->token);
    fputs("}\n", body);
    fclose(body);
}

/* The file may have changed since the login: a user who was removed, or has another role by now,
   may not act. */
static void carry_out(struct actor *actor, struct order *order, struct answer *out)
{
    enum role role = ROLE_NONE;
    enum login login;

    if (action_needs_operator(order->action)) {
        if (users_role(actor->users, order->session.user) != ROLE_OPERATOR)
            answer_text(403, "this needs the role operator", out);
        else if (rowlock__now_ms() > order->arrived_ms + LONGEST_MS)
            answer_text(503, "the order waited too long, and was not carried out", out);
        else
            act(order, actor->end.fd, out);
        return;
    }
    login = users_login(actor->users, order->user, order->password, &role);
    rowlock__wipe(order->password, sizeof order->password);
    order->session = (struct session){.id = ""};
    if (login == LOGIN_TOO_OFTEN) {
        answer_text(429, "too many failed logins of this name: wait a minute", out);
    } else if (login == LOGIN_WRONG) {
        message("failed login of '%s' from %s", order->user, order->from);
        answer_text(401, "the name or the password is wrong", out);
    } else if (sessions_begin(actor->sessions, order->user, role, 0, &order->session)) {
        answer_text(503, "this system has no random bytes", out);
    } else {
        message("%s (%s) has logged in, %s", order->user, order->from, role_text(role));
        session_write(&order->session, out);
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void *work(void *data)
{
    struct actor *actor = data;
    struct task task;
    int has_task;

    for (;;) {
        pthread_mutex_lock(&actor->mutex);
        has_task = actor->n > 0 && !actor->has_ended;
        if (has_task) {
            task = actor->tasks[0];
            memmove(actor->tasks, actor->tasks + 1, --actor->n * sizeof *actor->tasks);
        }
        pthread_mutex_unlock(&actor->mutex);
        if (has_task) {
            carry_out(actor, task.order, task.out);
            actor->done(task.data);
        } else if (rowlock__wait_fd(actor->woken.fd, POLLIN, actor->end.fd, ROWLOCK_NEVER) ==
                   ROWLOCK_WAKE_INTERRUPT) {
            return NULL;
        } else {
            rowlock__wakeup_take(&actor->woken);
        }
    }
}

void actor_free(struct actor *actor)
{
    if (!actor)
        return;
    rowlock__wakeup_close(&actor->end);
    rowlock__wakeup_close(&actor->woken);
    pthread_mutex_destroy(&actor->mutex);
    free(actor);
}

struct actor *actor_open(const char *users, struct sessions *sessions, void (*done)(void *data))
{
    struct actor *actor = calloc(1, sizeof *actor);
    int failed;

    if (!actor)
        return NULL;
    actor->users = users;
    actor->sessions = sessions;
    actor->done = done;
    pthread_mutex_init(&actor->mutex, NULL);
    failed = rowlock__wakeup_open(&actor->end);
    failed |= rowlock__wakeup_open(&actor->woken);
    if (!failed && pthread_create(&actor->thread, NULL, work, actor) == 0)
        return actor;
    actor_free(actor);
    return NULL;
}

int actor_give(struct actor *actor, struct order *order, struct answer *out, void *data)
{
    int failed;

    pthread_mutex_lock(&actor->mutex);
    failed = actor->n == ORDERS || actor->has_ended;
    if (!failed)
        actor->tasks[actor->n++] = (struct task){order, out, data};
    pthread_mutex_unlock(&actor->mutex);
    if (!failed)
        rowlock__wakeup_send(&actor->woken);
    return failed ? -1 : 0;
}

void actor_stop(struct actor *actor)
{
    if (!actor)
        return;
    pthread_mutex_lock(&actor->mutex);
    actor->has_ended = 1;
    pthread_mutex_unlock(&actor->mutex);
    rowlock__wakeup_send(&actor->end);
    pthread_join(actor->thread, NULL);
    for (size_t i = 0; i < actor->n; i++) {
        answer_text(503, "rowlock serve ends", actor->tasks[i].out);
        actor->done(actor->tasks[i].data);
    }
    actor->n = 0;
}
