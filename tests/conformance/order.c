/* SPDX-License-Identifier: Apache-2.0 */
/* P7: transaction locks wait in the engine's own queue. */
#include <stdatomic.h>

#include "lib/test.h"

#define WAITERS 4

struct place {
    const char *name;
    int order;
};
static atomic_int served;

static int hold_for_a_moment(struct rowlock_connection *connection, void *data,
                             struct rowlock_error *error)
{
    struct place *place = data;
    struct rowlock_want want = t_x(place->name);
    int code = rowlock_begin(connection, &want, 1, -1, error);

    place->order = code ? -1 : atomic_fetch_add(&served, 1);
    return code ? code : rowlock_commit(connection, error);
}

TEST(p7_waiters_are_served_in_the_order_of_the_engines_queue)
{
    struct rowlock_connection *holder = t_open();
    struct place places[WAITERS];
    struct thread *threads[WAITERS];
    const char *name = t_name(1);

    atomic_store(&served, 0);
    t_ok(t_begin(holder, t_x(name), 0));
    for (int i = 0; i < WAITERS; i++) {
        places[i] = (struct place){name, -1};
        threads[i] = t_thread(t_open(), hold_for_a_moment, &places[i]);
        t_until_waiting(threads[i]);
    }
    t_int(atomic_load(&served), 0);
    t_ok(rowlock_commit(holder, &t_error));
    for (int i = 0; i < WAITERS; i++)
        t_ok(t_join(threads[i]));
    t_int(atomic_load(&served), WAITERS);
    if (t_facts()->first_come)
        for (int i = 0; i < WAITERS; i++)
            t_int(places[i].order, i);
}

TEST(p7_a_waiter_whose_session_is_killed_does_not_hold_up_the_next)
{
    struct rowlock_connection *holder = t_open(), *victim = t_open(), *next = t_open();
    struct thread *killed, *waiting;
    void *killer;

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    killed = t_waiting_thread(victim, t_x(t_name(1)), t_facts()->server ? -1 : 300);
    waiting = t_waiting_thread(next, t_x(t_name(1)), -1);
    if (t_facts()->server) {
        killer = t_native();
        t_engine()->kill(killer, t_engine()->session(t_handle(victim)));
        t_fails(t_join(killed), ECONN);
        t_left(DEAD);
    } else { /* without a server the wait cannot be killed; it times out */
        t_fails(t_join(killed), ETIMEDOUT);
    }
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_join(waiting));
}
