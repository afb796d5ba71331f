/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a lease is renewed, as a pure function with state: it has no I/O and no clock. Every renewer
 * performs its steps: the library's thread, `rowlock run`, its stand-in, and the demonstration.
 *
 * It renews every third of the ttl. After a failure it tries again, with growing pauses, until the
 * end: the holder's own deadline, which counts from before the last successful renewal was sent.
 * The lease knows it (rowlock_remaining), so each call gets it: ROWLOCK_NEVER if only another
 * process knows it.
 */
#ifndef ROWLOCK_RENEWAL_H
#define ROWLOCK_RENEWAL_H

#include <stdbool.h>
#include <stdint.h>

/* The ttl of a lease: if none is given, and at least. At most: ROWLOCK_UNTIL_RELEASED. */
#define ROWLOCK_TTL_MS 30000
#define ROWLOCK_TTL_LEAST_MS 1000

/* The next action of the renewer, after which it calls rowlock__renewal_next. */
enum rowlock_renewal_act {
    ROWLOCK_RENEWAL_SLEEP, /* until until_ms; ROWLOCK_NEVER: LOST was reported before */
    ROWLOCK_RENEWAL_SEND,  /* renew; replace a lost session first */
    ROWLOCK_RENEWAL_LOST   /* report it, once: no more steps follow */
};

struct rowlock_renewal_step {
    enum rowlock_renewal_act act;
    int64_t until_ms;
};

/* Times are milliseconds of clock.h. The caller sets ttl_ms, and the rest to 0. */
struct rowlock_renewal {
    int64_t ttl_ms; /* input */
    /* state; pause_ms is 0 if the last renewal did not fail */
    int64_t sent_ms, pause_ms;
    int state;
    int code; /* output: why it is lost: ELOST (the database reported it), ECONN (its end passed) */
};

/* Whether a grant was answered so late, after more than a tenth of the ttl, that it must be renewed
   at once. */
bool rowlock__is_late_grant(int64_t ttl_ms, int64_t sent_ms, int64_t now_ms);

/* The first step after a grant: SLEEP, or SEND at once if the grant was late. */
struct rowlock_renewal_step rowlock__renewal_start(struct rowlock_renewal *renewal, int64_t now_ms,
                                                   int64_t end_ms);
/* Renews at once, whatever the last step was: also as the first step. */
struct rowlock_renewal_step rowlock__renewal_now(struct rowlock_renewal *renewal, int64_t now_ms,
                                                 int64_t end_ms);
/* The next step. `code`: the result of the renewal that SEND asked for; of no meaning after SLEEP.
   ELOST loses the lease at once, another error only at the end. `dice`: random bits for the jitter
   of a pause (rowlock__dice). */
struct rowlock_renewal_step rowlock__renewal_next(struct rowlock_renewal *renewal, int64_t now_ms,
                                                  int64_t end_ms, int code, uint32_t dice);

#endif
