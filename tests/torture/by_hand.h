/* SPDX-License-Identifier: Apache-2.0 */
/* Histories written by hand, for the unit tests of the judge. */
#ifndef TORTURE_BY_HAND_H
#define TORTURE_BY_HAND_H

#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "torture/judge.h"

static char found[8000];

/* Judges the lines; the violations are in `found`. */
static struct verdict judged(const char *text)
{
    struct history history = {0};
    struct verdict verdict = {0};
    char *copy = strdup(text);
    FILE *log = fmemopen(copy, strlen(copy), "r"), *out = fmemopen(found, sizeof found, "w");

    memset(found, 0, sizeof found);
    verdict.out = out;
    t_int(history_read(&history, log, "history"), 0);
    fclose(log);
    free(copy);
    history_join(&history);
    judge(&history, &verdict);
    history_free(&history);
    fclose(out);
    return verdict;
}

static void is_legal(const char *text)
{
    struct verdict verdict = judged(text);

    t_text(found, "");
    t_int(verdict.violations, 0);
}

/* Exactly one violation, and it is of this kind. */
static void violates(const char *text, const char *kind)
{
    struct verdict verdict = judged(text);

    t_contains(found, kind);
    t_int(verdict.violations, 1);
}

#define ADD(invoked, done, client, op, value)                                                    \
#invoked " " #client " " #op " invoke add 0\n" #done " " #client " " #op " ok add 0 " #value \
             "\n"
#define ROW(client, op, value) "0 " #client " " #op " ok final 0 " #value " 0\n"
#define ROW_OF(client, op, value, token) "0 " #client " " #op " ok final 0 " #value " " #token "\n"

/* A lease of key 0 in a mode (0: exclusive, 1: shared, 2: permits), released at `left`. */
#define HOLD(done, left, client, op, mode, count, token, until)                           \
    "1 " #client " " #op " invoke hold 0\n" #done " " #client " " #op " ok hold 0 " #mode \
    " " #count " 3 " #token " " #until "\n" #left " " #client " " #op " invoke leave 0\n"

#define ACT(from, upto, client, value) \
#from " " #client " 1 invoke act 0\n" #upto " " #client " 1 ok act 0 " #value "\n"

#define READ(invoked, client, first, second) \
#invoked " " #client " 9 invoke read 0\n99 " #client " 9 ok read 0 " #first " " #second "\n"

#endif
