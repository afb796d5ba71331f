/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of operators (--allow-actions), which come as JSON by POST, and the thread that carries
   out them and logins, one after the other. Each order has a session of the database of its own. */
#ifndef ROWLOCK_SERVE_ACTIONS_H
#define ROWLOCK_SERVE_ACTIONS_H

#include "show/serve/answer.h"
#include "show/serve/users.h"

#define ORDER_MOST 4096 /* bytes of the body of a request */
#define NOTE_SIZE 1000

struct action; /* a row of the table in actions.c */

/* The action of a path, such as "/api/break". NULL: there is none. */
const struct action *action_of(const char *path);
/* Whether it needs a session of an operator; those of logins do not. */
int action_needs_operator(const struct action *action);

/* An order: the members of the JSON object that came, and its sender. */
struct order {
    const struct action *action;
    char name[REQUEST_NAME], note[NOTE_SIZE], lasts[32];
    char user[USER_SIZE], password[PASSWORD_SIZE];
    char token[24];
    int now;
    struct session session; /* of the sender; of a login: the new one */
    char from[64];          /* the sender's address, for messages */
    int64_t arrived_ms;     /* by rowlock__now_ms() */
};

/* Reads the object into the order, whose action is set. NULL; or why it is refused. */
const char *order_read(struct order *order, const char *text);

/* Carries out an order of an operator; blocks as its queries do. The caller frees the answer. */
void act(const struct order *order, int interrupt_fd, struct answer *out);
int action_is_logout(const struct action *action);

struct actor;

/* Writes who the session is of, and its token; the caller frees the answer. */
void session_write(const struct session *session, struct answer *out);

/* Starts the thread. `done` is called on it when an order has its answer. NULL: no memory or no
   thread. The sessions and the path must stay. */
struct actor *actor_open(const char *users, struct sessions *sessions, void (*done)(void *data));
/* Carries out the order, and calls done(data). Both must stay until then. Any thread; does not
   block. -1: too many orders wait, or the actor ends. */
int actor_give(struct actor *actor, struct order *order, struct answer *out, void *data);
/* Interrupts the present order, answers the others with an error, and ends the thread. Afterwards
   actor_give() fails. Accepts NULL. */
void actor_stop(struct actor *actor);
void actor_free(struct actor *actor);

#endif
