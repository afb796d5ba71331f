/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge LOG...: judges the history in all logs of a cell. Prints its figures as one line of
 * KEY=VALUE words, before it the violations. Exit status: 1 if there are any, 2 if a log cannot be
 * read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "torture/judge.h"

static int read_log(struct history *history, const char *path)
{
    FILE *log = fopen(path, "r");
    int code;

    if (!log) {
        perror(path);
        return -1;
    }
    code = history_read(history, log, path);
    fclose(log);
    return code;
}

int main(int argc, char **argv)
{
    struct history history = {0};
    struct verdict verdict = {.out = stdout};

    for (int i = 1; i < argc; i++)
        if (read_log(&history, argv[i]))
            return 2;
    history_join(&history);
    judge(&history, &verdict);
    history_free(&history);
    printf("operations=%ld leases=%ld unknown=%ld overlaps=%ld early=%ld forgotten=%ld lost=%ld "
           "longest_ms=%" PRId64 " idle_ms=%" PRId64 " gap_ms=%" PRId64 " violations=%ld\n",
           verdict.operations, verdict.leases, verdict.unknown, verdict.overlaps, verdict.early,
           verdict.forgotten, verdict.lost, verdict.longest / 1000000, verdict.idle / 1000000,
           verdict.gap / 1000000, verdict.violations);
    return verdict.violations > 0;
}
