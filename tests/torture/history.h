/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history: the operations of all clients of a cell, as their logs and the database report them.
 *
 * A log has a line for each event:
 *
 *     TIME CLIENT OP PHASE KIND KEY [NUMBER...]
 *
 * TIME is CLOCK_MONOTONIC in nanoseconds. CLIENT is a process, OP a number that it draws once for
 * each turn of its loop, and for each further write under the lease of that turn. PHASE is invoke,
 * ok, fail (it had no effect) or unknown. KIND and the numbers of "ok" are:
 *
 *     add KEY VALUE           the client raised counter KEY to VALUE, or drew VALUE
 *     hold KEY MODE COUNT LIMIT TOKEN UNTIL   it acquired a lease, which lasts until the time UNTIL
 *                             TOKEN 0: a transaction lock (tests/simulation)
 *     renew KEY UNTIL         it renewed that lease
 *     leave KEY               it released that lease
 *     act KEY VALUE           it wrote outside the database under that lease
 *     fence KEY, commit KEY   the first and the last call of a fenced transaction
 *     begin KEY DUE RETRY     it began a run of job KEY
 *     end KEY                 it finished that run, as done
 *     read KEY VALUE VALUE    it used both copies of the data that "add" writes
 *     free KEY                after the faults: the name could be locked, and leased
 *     stopped                 SIGSTOP and SIGCONT of the client, as the runner logs them; both at
 *                             once: SIGKILL
 *     final KEY VALUE TOKEN   a row of the database afterwards: the operation is in effect
 *     step KEY MS             the runner set the server's clock forward by so much, or back
 *     undone KEY              the runner: at the completion the database has forgotten some of the
 *                             commits, or all, that it acknowledged since the invocation
 *     prompt KEY MS           the runner: nothing disturbs the waiters, so half of the hand-overs
 *                             from one lease to the next take no longer
 *     calm KEY                the runner: no session is disturbed, except by its own client
 *     queued KEY CLIENT OP    a holder saw this operation among the waiters of its name
 *     outage KEY              the runner: a cluster may have no server that grants leases
 *     kept KEY                a transaction saw its writes, and committed, after a lock was busy
 *
 * The number of a "hold" that failed is 1 if the name was busy.
 */
#ifndef TORTURE_HISTORY_H
#define TORTURE_HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum phase { PHASE_INVOKE, PHASE_OK, PHASE_FAIL, PHASE_UNKNOWN };

enum kind {
    KIND_ADD,
    KIND_HOLD,
    KIND_RENEW,
    KIND_LEAVE,
    KIND_ACT,
    KIND_FENCE,
    KIND_COMMIT,
    KIND_BEGIN,
    KIND_END,
    KIND_READ,
    KIND_FREE,
    KIND_STOPPED,
    KIND_FINAL,
    KIND_STEP,
    KIND_UNDONE,
    KIND_PROMPT,
    KIND_CALM,
    KIND_QUEUED,
    KIND_KEPT,
    KIND_OUTAGE,
    KIND_COUNT
};
extern const char *const history_phases[], *const history_kinds[];

#define NUMBERS 5
struct operation {         /* an invocation and its completion */
    int64_t invoked, done; /* done: INT64_MAX if it never completed */
    long client, op, key;
    enum kind kind;
    enum phase phase; /* UNKNOWN also if it never completed */
    int64_t number[NUMBERS];
};

struct history {
    struct operation *operation; /* sorted by client, op, kind and key */
    size_t n, space;
};

/* Appends the events of a log; -1: a line cannot be understood, and was printed. The last line may
   be incomplete, because its client was killed. */
int history_read(struct history *history, FILE *log, const char *name);
/* Joins invocations and completions. Call it once, after the last log. */
void history_join(struct history *history);
/* The operation of that kind with the client, op and key of `like`, or NULL. */
const struct operation *history_find(const struct history *history, const struct operation *like,
                                     enum kind kind);
void history_free(struct history *history);

#endif
