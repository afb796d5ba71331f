/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the verb or option that was meant: by other programs' names for it, or by spelling. */
#include <stdio.h>
#include <string.h>

#include "command/command.h"

#define WORD_MOST 24

static char suggestion[80];

static const struct {
    const char *word, *verbs;
} elsewhere[] = {
    {"list", "ls"},
    {"locks", "ls"},
    {"status", "ls"},
    {"info", "ls"},
    {"show", "ls"},
    {"ps", "ls"},
    {"lock", "run or acquire"},
    {"with", "run"},
    {"exec", "run"},
    {"unlock", "release"},
    {"free", "release"},
    {"extend", "renew"},
    {"kill", "break"},
    {"steal", "break"},
    {"install", "schema install"},
    {"upgrade", "schema upgrade"},
    {"uninstall", "schema uninstall"},
    {"sequence", "next"},
    {"version", "--version"},
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to insert, delete, replace, or swap with their neighbour. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t cost[WORD_MOST + 1][WORD_MOST + 1];

    if (n > WORD_MOST || m > WORD_MOST)
        return WORD_MOST;
    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++) {
            if (i == 0 || k == 0) {
                cost[i][k] = i + k;
                continue;
            }
            cost[i][k] = least(cost[i - 1][k - 1] + (a[i - 1] != b[k - 1]),
                               least(cost[i - 1][k], cost[i][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                cost[i][k] = least(cost[i][k], cost[i - 2][k - 2] + 1);
        }
    return cost[n][m];
}

/* The closest word so far; the shorter the word, the fewer letters of it may be wrong. */
struct closest {
    const char *word, *found;
    size_t length, distance;
};

static struct closest closest_to(const char *word, size_t length)
{
    return (struct closest){.word = word,
                            .length = length,
                            .distance = length <= 3   ? 2
                                        : length <= 7 ? 3
                                                      : 4};
}

static void consider(struct closest *closest, const char *candidate)
{
    size_t between = distance(closest->word, closest->length, candidate, strlen(candidate));

    if (between >= closest->distance || between >= closest->length)
        return;
    closest->distance = between;
    closest->found = candidate;
}

static const char *say(const char *dashes, const char *found)
{
    if (!found)
        return "";
    snprintf(suggestion, sizeof suggestion, "; did you mean %s%s?", dashes, found);
    return suggestion;
}

const char *suggest_verb(const struct verb *verbs, const char *word)
{
    struct closest closest = closest_to(word, strlen(word));

    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strcmp(word, elsewhere[i].word) == 0)
            return say("", elsewhere[i].verbs);
    for (const struct verb *verb = verbs; verb->name; verb++)
        consider(&closest, verb->name);
    return say("", closest.found);
}

const char *suggest_option(const struct option *options, const char *word, size_t length)
{
    struct closest closest = closest_to(word, length);

    for (; options->name; options++)
        consider(&closest, options->name);
    return say("--", closest.found);
}
