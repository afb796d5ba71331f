/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a complete history. Every rule applies to every history; a workload that logs no such
 * operation passes the rule. An operation whose outcome is unknown may be in effect or not, but at
 * most once.
 */
#ifndef TORTURE_JUDGE_H
#define TORTURE_JUDGE_H

#include "torture/history.h"

#define MOST_CLIENTS 1000000 /* the threads of a client have its id modulo this */

struct verdict {
    long operations; /* that completed */
    long leases;     /* of these */
    long unknown;    /* whose outcome is unknown */
    long overlaps;   /* writes outside the database that overlapped, all explained */
    long lost;       /* updates outside the database that another client overwrote */
    long early;      /* overlaps of two leases, the first of which a step of the clock had ended, or
                        a loss of commits */
    long forgotten;  /* acknowledged updates that a loss of commits had undone */
    int64_t longest; /* of a lease that a client waited for which was not stopped meanwhile; ns */
    int64_t idle;    /* the longest time for which a client waited for a free name; ns */
    int64_t gap;     /* the longest time in which no client acquired a lease; ns */
    long violations;
    FILE *out; /* for a line about each violation; NULL: none */
};

void judge(const struct history *history, struct verdict *verdict);

/* The rules. */

/* Counters: the rows of a key are 1, 2, 3, ... without a gap or a duplicate, each is of one
   operation that did not fail, every acknowledged operation has its row (unless the database forgot
   it, see judge_undone), and an operation that completed before another began has the smaller
   number. For a counter this is linearizability. The tokens of the rows do not fall. */
void judge_counters(const struct history *history, struct verdict *verdict);
/* Leases that exclude each other do not overlap: each from the answer of acquire until its release
   is requested, or until its holder knows that it may have expired. If the server's clock was set
   forward meanwhile, a lease may end earlier, by as much. If the database forgot its grant or its
   renewal, it ends then. */
void judge_exclusion(const struct history *history, struct verdict *verdict);
/* Of two leases that exclude each other, the later one has the greater token, also if the database
   forgot the earlier one. */
void judge_tokens(const struct history *history, struct verdict *verdict);
/* Fenced transactions that committed do not overlap. */
void judge_fences(const struct history *history, struct verdict *verdict);
/* Writes outside the database overlap only if one lasted longer than its lease, or a step of the
   clock or a loss of commits had ended that lease. */
void judge_acts(const struct history *history, struct verdict *verdict);
/* A run of a due time and a retry number begins once, and only one run of a due time is done; runs
   that the database forgot are not counted. */
void judge_runs(const struct history *history, struct verdict *verdict);
/* Both copies are equal, and not older than the last one acknowledged before the read. */
void judge_reads(const struct history *history, struct verdict *verdict);
/* No client waits for long while the name is free. If the runner promises that nothing disturbs the
   waiters, half of the hand-overs are prompt: the wake-up hints arrive. */
void judge_waits(const struct history *history, struct verdict *verdict);
/* First come, first served: of two leases that exclude each other, the one that was seen in the
   queue before the other one was asked for has the smaller token. If the runner promises that no
   session is disturbed; a client that was stopped may have lost its place. */
void judge_order_of_queue(const struct history *history, struct verdict *verdict);
/* A name that is busy is used by another operation. On the same condition. */
void judge_busy(const struct history *history, struct verdict *verdict);
/* A transaction survives a lock that is busy. On the same condition. */
void judge_kept(const struct history *history, struct verdict *verdict);
/* After the faults every name is free. */
void judge_free(const struct history *history, struct verdict *verdict);

/* Parts of the judge. */

__attribute__((format(printf, 2, 3))) void judge_blame(struct verdict *verdict, const char *format,
                                                       ...);
/* The operations of one kind, or those that are ok, in an order; free() it. */
typedef int (*judge_order)(const void *a, const void *b);
const struct operation **judge_select(const struct history *history, enum kind kind, int only_ok,
                                      judge_order order, size_t *n);
int judge_by_value(const void *a, const void *b);
int judge_by_completion(const void *a, const void *b); /* of each key */
int judge_by_invocation(const void *a, const void *b);
/* A number for qsort. */
int judge_compare(int64_t a, int64_t b);
/* Whether the operation's client was stopped meanwhile. */
int judge_was_stopped(const struct operation *const *stop, size_t n, const struct operation *it);
/* By how much the server's clock was set forward between these times; ns. */
int64_t judge_forward(const struct history *history, int64_t from, int64_t upto);
/* Whether a commit that was acknowledged at this time may have been undone: when; 0: it was not. */
int64_t judge_undone(const struct history *history, int64_t acknowledged);
/* Whether the first event may have been undone before the second one, or the other way round. */
int judge_undone_between(const struct history *history, int64_t one, int64_t other);
/* Whether the database forgot this acknowledged update. */
int judge_is_forgotten(const struct history *history, const struct operation *add);
/* When the lease ended because its grant or its renewal was undone; INT64_MAX: it did not. */
int64_t judge_undone_end(const struct history *history, const struct operation *hold);
/* Whether the leases, or transaction locks, exclude each other. */
int judge_excludes(const struct operation *one, const struct operation *other);
/* The last renewal of the lease, or the last one that succeeded; NULL: none. A holder that writes
   several times numbers each write after the lease, and its renewals as the write before them. */
const struct operation *judge_renewal(const struct history *history, const struct operation *hold,
                                      int only_ok);
/* When the holder of the lease last knew that it had it. */
int64_t judge_end_of(const struct history *history, const struct operation *hold);

/* Numbers of "hold". */
enum hold_number { HOLD_MODE, HOLD_COUNT, HOLD_LIMIT, HOLD_TOKEN, HOLD_UNTIL };

#endif
