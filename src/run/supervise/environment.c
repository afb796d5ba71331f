/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's environment. ROWLOCK_HELD lists the locks of this process and its ancestors as
 * words: HEX:x and HEX:s are names in hex, held exclusively or shared; a plain number is a token.
 * Hex is used because a name may contain a blank or a newline. A token belongs to one lease, but a
 * name to any: so ROWLOCK_HELD_BY has a word HEX:x/PID/BORN/NUMBERING for each name, with the guard
 * of its command. A daemon that has outlived the command, and so the guard, must wait.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/output/json.h"
#include "guard/guard.h"
#include "run/supervise/ancestors.h"
#include "run/supervise/holding.h"
#include "system/system.h"

static size_t put_word(char *out, const struct rowlock_want *want)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (const unsigned char *byte = (const unsigned char *)want->name; *byte; byte++) {
        out[n++] = digits[*byte >> 4];
        out[n++] = digits[*byte & 15];
    }
    out[n++] = ':';
    out[n++] = want->mode == ROWLOCK_SHARED ? 's' : 'x';
    out[n] = '\0';
    return n;
}

/* Whether the guard of this word is above us. Yes, if that cannot be known: then the name counts.
   */
static int is_guarded(const char *word)
{
    unsigned long long born;
    uintmax_t numbering;
    int pid;

    if (sscanf(word + strcspn(word, "/ "), "/%d/%llu/%ju", &pid, &born, &numbering) != 3 || !born ||
        !numbering || numbering != rowlock__pid_namespace())
        return 1;
    return tree_is_above((pid_t)pid, born) != 0;
}

/* How many words of the name there are, or only those whose guard is above us. Both modes count: a
   shared lock beneath an ancestor's shared one can wait for a third that waits for the ancestor. */
static int count_words(const char *words, const struct rowlock_want *want, int only_guarded)
{
    size_t length = 2 * strlen(want->name) + 1;
    char *word = malloc(length + 2);
    int n = 0;

    if (!word)
        return 0;
    put_word(word, want);
    for (const char *at = words; at && *at; at = strchr(at, ' ')) {
        at += strspn(at, " ");
        if (strncmp(at, word, length) == 0)
            n += !only_guarded || is_guarded(at);
    }
    free(word);
    return n;
}

int held_by_ancestor(const struct rowlock_want *wants, size_t n)
{
    const char *held = getenv("ROWLOCK_HELD"), *by = getenv("ROWLOCK_HELD_BY");

    for (size_t i = 0; held && i < n; i++)
        if (count_words(held, &wants[i], 0) &&
            (count_words(by, &wants[i], 1) || !count_words(by, &wants[i], 0)))
            return (int)i;
    return -1;
}

int has_holding_ancestor(void)
{
    const char *held = getenv("ROWLOCK_HELD");

    return held && *held;
}

int is_token_of_ancestor(int64_t token)
{
    const char *held = getenv("ROWLOCK_HELD");
    char word[24];
    size_t length = (size_t)snprintf(word, sizeof word, "%" PRId64, token);

    for (const char *at = held; at && *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, word, length) == 0 && (at[length] == ' ' || at[length] == '\0'))
            return 1;
    }
    return 0;
}

/* ---- for the command ------------------------------------------------------------------------- */

static char *names_of(const struct rowlock_want *wants, size_t n)
{
    size_t size = 1, at = 0;
    char *text;

    for (size_t i = 0; i < n; i++)
        size += strlen(wants[i].name) + 1;
    text = malloc(size);
    for (size_t i = 0; text && i < n; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? "\n" : "", wants[i].name);
    return text;
}

/* The previous value plus our locks: the names, or the token that represents them. */
static char *held_with(const struct rowlock_want *wants, size_t n, int64_t token)
{
    const char *before = getenv("ROWLOCK_HELD");
    size_t size = (before ? strlen(before) : 0) + 32, at = 0;
    char *text;

    for (size_t i = 0; i < n; i++)
        size += 2 * strlen(wants[i].name) + 3;
    text = malloc(size);
    if (!text)
        return NULL;
    at = (size_t)snprintf(text, size, "%s", before ? before : "");
    if (token)
        snprintf(text + at, size - at, "%s%" PRId64, at ? " " : "", token);
    for (size_t i = 0; i < n && !token; i++) {
        if (at > 0)
            text[at++] = ' ';
        at += put_word(text + at, &wants[i]);
    }
    return text;
}

/* The previous value plus the names of a transaction. In the command's process, below its guard. */
static int set_held_by(const struct rowlock_want *wants, size_t n)
{
    const char *before = getenv("ROWLOCK_HELD_BY");
    size_t size = (before ? strlen(before) : 0) + 1, at;
    pid_t guard = getppid();
    char *text;
    int failed;

    for (size_t i = 0; i < n; i++)
        size += 2 * strlen(wants[i].name) + 80;
    text = malloc(size);
    if (!text)
        return -1;
    at = (size_t)snprintf(text, size, "%s", before ? before : "");
    for (size_t i = 0; i < n; i++) {
        if (at > 0)
            text[at++] = ' ';
        at += put_word(text + at, &wants[i]);
        at += (size_t)snprintf(text + at, size - at, "/%d/%llu/%ju", (int)guard, tree_born(guard),
                               rowlock__pid_namespace());
    }
    failed = setenv("ROWLOCK_HELD_BY", text, 1);
    free(text);
    return failed;
}

int set_environment(const struct rowlock_want *wants, size_t n, const struct holding *holding)
{
    const struct rowlock_lease *lease = holding->lease;
    char *names = names_of(wants, n);
    char *held = held_with(wants, n, lease ? rowlock_token(lease) : 0);
    char token[24], due[UTC_INSTANT_SIZE], attempt[16];
    int failed =
        !names || !held || setenv("ROWLOCK_NAME", names, 1) || setenv("ROWLOCK_HELD", held, 1);

    if (!failed && lease) {
        snprintf(token, sizeof token, "%" PRId64, rowlock_token(lease));
        failed =
            setenv("ROWLOCK_TOKEN", token, 1) || setenv("ROWLOCK_OWNER", rowlock_owner(lease), 1);
    } else if (!failed) {
        /* A transaction has neither token nor owner, and an ancestor's are not its own. */
        failed = set_held_by(wants, n) || unsetenv("ROWLOCK_TOKEN") || unsetenv("ROWLOCK_OWNER");
    }
    /* Only a run of a job sets these variables: a lock that the job's command acquires keeps their
       values. */
    if (!failed && holding->attempt) {
        snprintf(attempt, sizeof attempt, "%d", holding->attempt);
        failed = utc_instant(holding->due_ms, due, sizeof due) || setenv("ROWLOCK_DUE", due, 1) ||
                 setenv("ROWLOCK_ATTEMPT", attempt, 1);
    }
    free(names);
    free(held);
    return failed ? -1 : 0;
}
