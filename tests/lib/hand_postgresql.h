/* SPDX-License-Identifier: Apache-2.0 */
/* hand.h has the helpers of both engines; these are of PostgreSQL alone. */
#ifndef TEST_HAND_POSTGRESQL_H
#define TEST_HAND_POSTGRESQL_H

#include "lib/hand.h"

/* One grant, as the library sends it: BEGIN, grant, COMMIT. */
struct hand_terms {
    const char *wants;
    const char *owner; /* NULL: a new one for every call */
    long ttl_ms;       /* 0: 60 s */
    long long ticket;
};
/* "status|number"; with status 0 the number is the token, otherwise it identifies the conflict. */
const char *hand_try(void *hand, struct hand_terms terms);
/* Only sends BEGIN and the grant, with a timeout for the name lock. hand_finish returns
   "status|name|token|number|detail" and leaves the transaction open. */
void hand_wait(void *hand, struct hand_terms terms, long wait_ms);

#endif
