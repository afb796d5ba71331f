/* SPDX-License-Identifier: Apache-2.0 */
/* The helpers of PostgreSQL alone (hand_postgresql.h). */
#include "lib/hand_postgresql.h"

#include <stdio.h>

#include "lib/test.h"

static const char *call(void *hand, const struct hand_terms *terms, long wait_ms)
{
    static unsigned calls;
    static char text[700];
    char own[60];

    snprintf(own, sizeof own, "owner %ld by %u", t_engine()->session(hand), ++calls);
    snprintf(text, sizeof text,
             "SELECT * FROM rowlock.grant_lease('%s', '%s', %ld, %ld, %lld, pg_backend_pid(), "
             "'here', 4711, 'work', 'a note')",
             hand_wants(terms->wants), terms->owner ? terms->owner : own,
             terms->ttl_ms ? terms->ttl_ms : 60000, wait_ms, terms->ticket);
    return text;
}

#define OWN_BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

const char *hand_try(void *hand, struct hand_terms terms)
{
    return hand_row(hand,
                    OWN_BEGIN "; SELECT g.status, coalesce(g.token, g.number) FROM (%s) g; COMMIT",
                    call(hand, &terms, 0));
}

void hand_wait(void *hand, struct hand_terms terms, long wait_ms)
{
    hand_row(hand, OWN_BEGIN);
    hand_start(hand, "%s", call(hand, &terms, wait_ms));
}
