/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reference model of transaction locks, small enough to read: sessions that take steps, the modes
 * they ask for, the queue of waiters, and whether the name is prepared. The interleaving tests
 * compare the product with it.
 */
#ifndef TEST_MODEL_H
#define TEST_MODEL_H

#include "lib/session.h"

#define MOST_ACTORS 3

enum outcome { PASSES, WAITS, IS_BUSY, IS_UNPREPARED };

struct actor {
    enum door door;
    const enum step_kind *steps;
    enum rowlock_mode mode;
    int at, holds, waits;
    long added; /* added to the ledger, not yet committed */
};

struct model {
    struct actor actor[MOST_ACTORS];
    int n, queue[MOST_ACTORS], queued, known;
    long committed;
};

/* Applies the next step of actor `me`. Steps that make no sense after a failure are omitted from
   then on. */
enum outcome model_step(struct model *model, int me);

#endif
