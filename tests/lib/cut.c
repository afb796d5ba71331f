/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that are cut after every message (cut.h). */
#include "lib/cut.h"

#include "lib/grants.h"
#include "lib/test.h"

struct proxy *t_proxy;

struct rowlock_connection *t_through_proxy(void)
{
    return t_open_at(t_proxied_url(&t_proxy), t_usual());
}

void t_close_through_proxy(struct rowlock_connection *connection)
{
    t_close(connection);
    proxy_cut_all(t_proxy);
}

int t_next_cut_of(struct cuts *cuts)
{
    int next = t_next_cut(cuts->n, cuts->stride);

    if (!cuts->begun)
        return cuts->begun = 1;
    cuts->n = next;
    if (cuts->struck && next < cuts->most)
        return 1;
    t_true(next >= cuts->least && next < cuts->most);
    cuts->n = 0;
    return cuts->direction++ == PROXY_TO_SERVER;
}
