/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection of a call is cut after every message, one after the other: first those to the
 * server, then those to the client. The program has one proxy.
 */
#ifndef TEST_CUT_H
#define TEST_CUT_H

#include "lib/proxy.h"
#include "rowlock.h"

/* For t_proxied_url(&t_proxy), which starts it. */
extern struct proxy *t_proxy;
/* A connection with the usual options. Its end is also that of those which a retry has opened. */
struct rowlock_connection *t_through_proxy(void);
void t_close_through_proxy(struct rowlock_connection *connection);

/*
 * A loop over the messages: while (t_next_cut_of(&cuts)) { proxy_arm(t_proxy, PROXY_CUT,
 * cuts.direction, cuts.n); a call; cuts.struck = proxy_has_struck(t_proxy); }. In each direction it
 * ends when the cut has not struck, because the call has no more messages. It asserts that the last
 * cut came after at least `least` - 1 messages, and after less than `most`.
 */
struct cuts {
    int least, most, stride; /* the stride of t_next_cut */
    enum proxy_direction direction;
    int n, struck, begun;
};
int t_next_cut_of(struct cuts *cuts);

#endif
