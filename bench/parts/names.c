/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases where the database knows many names: acquiring and releasing among 1,000,000 names, and
 * among 20,000; then the same while other leases hold a tenth as many names.
 * names MANY FEW [ROUNDS [NAMES]]: the URLs of two databases of one server, which it fills.
 * names --hot MANY FEW [ROUNDS [PAIRS]]: one hot name, after so many pairs of it in MANY, where
 * another session keeps a snapshot open, compared with the same name in FEW.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rate.h"
#include "rowlock.h"

#define FEW 20000
#define BATCH 200 /* names of one lease that fills */
#define WORKERS 4
#define PRIME 7919

static const char *many_url, *few_url;
static unsigned long many = 1000000;

struct session {
    struct rowlock_connection *many, *few;
};

/* ---- filling --------------------------------------------------------------------------------- */

/* Makes the names known where the database keeps their rows, or holds them. */
static void fill_batch(struct rowlock_connection *connection, const char *kind, unsigned long from,
                       int holds)
{
    static char names[BATCH][40];
    struct rowlock_want wants[BATCH] = {{0}};
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error;

    for (unsigned long i = 0; i < BATCH; i++) {
        snprintf(names[i], sizeof names[i], "%s:%lu", kind, from + i);
        wants[i].name = names[i];
    }
    if (holds)
        bench_acquire(connection, wants, BATCH, &lease);
    else if (rowlock_prepare(connection, wants, BATCH, &error))
        bench_die("%s", error.text);
    rowlock_lease_free(lease);
}

struct filling {
    const char *kind;
    unsigned long n;
    int holds;
};

static void fill_part(const char *url, unsigned long worker, const void *data)
{
    const struct filling *filling = data;
    struct rowlock_connection *connection = bench_connect(url);

    for (unsigned long from = worker * BATCH; from < filling->n; from += WORKERS * BATCH)
        fill_batch(connection, filling->kind, from, filling->holds);
    rowlock_close(connection);
}

static void fill(const char *url, const char *kind, unsigned long n, int holds)
{
    bench_fill(url, WORKERS, fill_part, &(struct filling){kind, n, holds});
}

/* ---- the comparison -------------------------------------------------------------------------- */

static void *open_session(const char *url, int worker)
{
    struct session *session = calloc(1, sizeof *session);

    (void)url;
    (void)worker;
    session->many = bench_connect(many_url);
    session->few = bench_connect(few_url);
    return session;
}

static void close_session(void *data)
{
    struct session *session = data;

    rowlock_close(session->many);
    rowlock_close(session->few);
    free(session);
}

static void pair(struct rowlock_connection *connection, unsigned long i)
{
    char name[40];

    snprintf(name, sizeof name, "used:%lu", i);
    bench_pair(connection, name);
}

static void hot_in_many(void *data, unsigned long i)
{
    (void)i;
    pair(((const struct session *)data)->many, 0);
}

static void hot_in_few(void *data, unsigned long i)
{
    (void)i;
    pair(((const struct session *)data)->few, 0);
}

static void compare_hot(int rounds, unsigned long pairs)
{
    static const struct comparison hot = {
        "lease pair of a hot name, beside an old snapshot / without",
        open_session,
        hot_in_many,
        hot_in_few,
        close_session,
        0.8};
    struct session *session = open_session("", 0);

    for (unsigned long i = 0; i < pairs; i++)
        hot_in_many(session, i);
    close_session(session);
    bench_compare(&hot, "", 1, rounds, 100);
}

static void among_many(void *data, unsigned long i)
{
    pair(((const struct session *)data)->many, i * PRIME % many);
}

static void among_few(void *data, unsigned long i)
{
    pair(((const struct session *)data)->few, i * PRIME % FEW);
}

/* rates: a pair that takes 1.5 times as long has the ratio 0.67 */
int main(int argc, char **argv)
{
    static const struct comparison used = {"lease pair among 1,000,000 names / 20,000",
                                           open_session,
                                           among_many,
                                           among_few,
                                           close_session,
                                           0.67};
    static const struct comparison held = {"the same, 100,000 other names held / 2,000",
                                           open_session,
                                           among_many,
                                           among_few,
                                           close_session,
                                           0.67};
    int is_hot = argc > 1 && !strcmp(argv[1], "--hot");
    int rounds;

    argc -= is_hot;
    argv += is_hot;
    if (argc < 3)
        bench_die("usage: names [--hot] MANY FEW [ROUNDS [NAMES or PAIRS]]");
    rounds = argc > 3 ? atoi(argv[3]) : 41;
    many_url = argv[1];
    few_url = argv[2];
    if (is_hot) {
        compare_hot(rounds, argc > 4 ? strtoul(argv[4], NULL, 10) : 40000);
        return 0;
    }
    many = argc > 4 ? strtoul(argv[4], NULL, 10) : many;
    fill(many_url, "used", many, 0);
    fill(few_url, "used", FEW, 0);
    bench_headline();
    bench_compare(&used, "", 1, rounds, 100);
    fill(many_url, "held", many / 10, 1);
    fill(few_url, "held", FEW / 10, 1);
    bench_compare(&held, "", 1, rounds, 100);
    return 0;
}
