/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of the history: acquiring and releasing a lease at the levels slow and all, compared
 * with the level off. history URL [ROUNDS]: the first call of each slice sets the level.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rate.h"
#include "rowlock.h"

static enum rowlock_history_level level = ROWLOCK_HISTORY_OFF;

static void *open_session(const char *url, int worker)
{
    (void)worker;
    return bench_connect(url);
}

static void close_session(void *data)
{
    rowlock_close(data);
}

static void set_level(struct rowlock_connection *connection, enum rowlock_history_level wanted)
{
    struct rowlock_history_rules rules = {wanted, 60000, 60000};
    struct rowlock_error error;

    if (wanted != level && rowlock_set_history(connection, &rules, &error))
        bench_die("%s", error.text);
    level = wanted;
}

static void pair(struct rowlock_connection *connection, enum rowlock_history_level wanted,
                 unsigned long i)
{
    char name[40];

    set_level(connection, wanted);
    snprintf(name, sizeof name, "bench:%lu", i % 50);
    bench_pair(connection, name);
}

static void off(void *data, unsigned long i)
{
    pair(data, ROWLOCK_HISTORY_OFF, i);
}

static void slow(void *data, unsigned long i)
{
    pair(data, ROWLOCK_HISTORY_SLOW, i);
}

static void all(void *data, unsigned long i)
{
    pair(data, ROWLOCK_HISTORY_ALL, i);
}

int main(int argc, char **argv)
{
    static const struct comparison comparisons[] = {
        {"lease pair: history slow / off", open_session, slow, off, close_session, 0.97},
        {"lease pair: history all / off", open_session, all, off, close_session, 0.85}};
    int rounds = argc > 2 ? atoi(argv[2]) : 41;

    if (argc < 2)
        bench_die("usage: history URL [ROUNDS]");
    bench_headline();
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        level = (enum rowlock_history_level) - 1;
        bench_compare(&comparisons[i], argv[1], 1, rounds, 100);
    }
    return 0;
}
