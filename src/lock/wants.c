/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, sorts and packs the lock requests of a call. */
#include "lock/wants.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

int rowlock__name_check(const char *name, struct rowlock_error *error)
{
    size_t length = name ? strlen(name) : 0;

    if (!name)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a name is NULL");
    if (length == 0)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a name must not be empty");
    if (length > ROWLOCK_NAME_MAX)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the name '%.40s...' has %zu bytes; at most %d are allowed", name,
                             length, ROWLOCK_NAME_MAX);
    if (rowlock__utf8_length(name, length) < 0)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the name '%s' is not UTF-8", name);
    return ROWLOCK_OK;
}

static int check(const struct rowlock_want *want, size_t n, bool lease, struct rowlock_error *error)
{
    if (!want || n == 0)
        return rowlock__fail(error, ROWLOCK_EINVAL, "no name was given");
    for (size_t i = 0; i < n; i++, want++) {
        bool permit = want->mode == ROWLOCK_PERMIT;
        int code = rowlock__name_check(want->name, error);

        if (code)
            return code;
        if (want->mode != ROWLOCK_EXCLUSIVE && want->mode != ROWLOCK_SHARED && !permit)
            return rowlock__fail(error, ROWLOCK_EINVAL, "'%s': no such mode: %d", want->name,
                                 (int)want->mode);
        if (!lease && permit)
            return rowlock__fail(
                error, ROWLOCK_EMODE,
                "'%.100s': a transaction cannot hold a permit; lock it exclusively "
                "or shared, or take the permit as a lease by rowlock_acquire",
                want->name);
        if (!lease && want->token < 0)
            return rowlock__fail(error, ROWLOCK_EINVAL, "'%s': token must be positive", want->name);
        if (lease && want->token)
            return rowlock__fail(error, ROWLOCK_EINVAL,
                                 "'%.100s': a lease request must not have a token; set it to 0",
                                 want->name);
        if (permit && want->limit < 1)
            return rowlock__fail(error, ROWLOCK_EINVAL,
                                 "'%.100s': state how many permits it has in all; limit is %d",
                                 want->name, want->limit);
        if (permit && (want->count < 0 || want->count > want->limit))
            return rowlock__fail(error, ROWLOCK_EINVAL,
                                 "'%.100s': cannot grant %d of %d permits; ask for 1 to %d",
                                 want->name, want->count, want->limit, want->limit);
    }
    return ROWLOCK_OK;
}

static int by_bytes(const void *left, const void *right)
{
    const struct rowlock_want *a = left, *b = right;

    return strcmp(a->name, b->name);
}

#define TERMS_SIZE 32

static int pack(struct rowlock_wants *wants, bool lease)
{
    static const char letters[] = {'x', 's', 'p'}; /* by mode */
    char *at = malloc(wants->n * (2 * ROWLOCK_NAME_MAX + TERMS_SIZE + 1));

    wants->packed = at;
    if (!at)
        return ROWLOCK_ENOMEM;
    for (size_t i = 0; i < wants->n; i++) {
        const struct rowlock_want *want = &wants->want[i];

        if (i > 0)
            *at++ = ',';
        at = rowlock__put_hex(at, want->name, strlen(want->name));
        if (lease) {
            at += snprintf(at, TERMS_SIZE, ":%c:%d:%d", letters[want->mode], want->limit,
                           want->count);
        } else if (want->token) {
            at += snprintf(at, TERMS_SIZE, ":%c:%" PRId64, letters[want->mode], want->token);
        } else { /* most locks have no token, so that case is fast */
            memcpy(at, want->mode == ROWLOCK_SHARED ? ":s:0" : ":x:0", 5);
            at += 4;
        }
    }
    wants->length = (size_t)(at - wants->packed);
    return ROWLOCK_OK;
}

/* A name given twice is one lock: the stronger mode, and the token if either request has one. But
   it is refused if one of them is a permit: adding the permits up would guess the caller's
   intention. */
static int copy_sorted(struct rowlock_wants *wants, const struct rowlock_want *want, size_t n,
                       struct rowlock_error *error)
{
    size_t kept = 0;

    wants->want = malloc(n * sizeof *want);
    if (!wants->want)
        return rowlock__no_memory(error);
    memcpy(wants->want, want, n * sizeof *want);
    wants->n = n;
    if (n == 1)
        return ROWLOCK_OK;
    qsort(wants->want, n, sizeof *want, by_bytes);
    for (size_t i = 1; i < n; i++) {
        const struct rowlock_want *last = &wants->want[i - 1], *next = &wants->want[i];

        if (strcmp(last->name, next->name) == 0 &&
            (last->mode == ROWLOCK_PERMIT || next->mode == ROWLOCK_PERMIT))
            return rowlock__fail(error, ROWLOCK_EINVAL,
                                 "'%.100s' is given twice; use one request with a count of permits",
                                 next->name);
    }
    for (size_t i = 1; i < n; i++) {
        struct rowlock_want *last = &wants->want[kept], *next = &wants->want[i];

        if (strcmp(last->name, next->name) != 0) {
            wants->want[++kept] = *next;
            continue;
        }
        if (next->mode == ROWLOCK_EXCLUSIVE)
            last->mode = ROWLOCK_EXCLUSIVE;
        if (next->token)
            last->token = next->token;
    }
    wants->n = kept + 1;
    return ROWLOCK_OK;
}

int rowlock__wants_init(struct rowlock_wants *wants, const struct rowlock_want *want, size_t n,
                        struct rowlock_error *error)
{
    int code = check(want, n, false, error);

    *wants = (struct rowlock_wants){0};
    if (!code)
        code = copy_sorted(wants, want, n, error);
    if (!code && pack(wants, false))
        code = rowlock__no_memory(error);
    return code;
}

int rowlock__wants_init_lease(struct rowlock_wants *wants, const struct rowlock_want *want,
                              size_t n, struct rowlock_error *error)
{
    int code = check(want, n, true, error);

    *wants = (struct rowlock_wants){0};
    if (!code)
        code = copy_sorted(wants, want, n, error);
    for (size_t i = 0; !code && i < wants->n; i++) { /* defaults; fields that the mode ignores */
        struct rowlock_want *each = &wants->want[i];
        int permit = each->mode == ROWLOCK_PERMIT;

        each->limit = permit ? each->limit : 0;
        each->count = permit ? (each->count ? each->count : 1) : 0;
    }
    if (code)
        return code;
    return pack(wants, true) ? rowlock__no_memory(error) : ROWLOCK_OK;
}

void rowlock__wants_clear(struct rowlock_wants *wants)
{
    free(wants->want);
    free(wants->packed);
    *wants = (struct rowlock_wants){0};
}
