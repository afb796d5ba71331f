/* SPDX-License-Identifier: Apache-2.0 */
/* The checked parameters of one call of rowlock_acquire. */
#include "lease/request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"
#include "util/random.h"
#include "util/renewal.h"
#include "util/utf8.h"

#define COMMAND_SIZE 256 /* the widths of the columns on MariaDB, plus the terminator */
#define NOTE_SIZE 1025

void rowlock__host(char *out, size_t size)
{
    char name[256] = "";

    gethostname(name, sizeof name - 1);
    rowlock__utf8_copy(out, size, name);
}

/* Texts for people are truncated, not refused. */
static int copy_text(const char **out, const char *text, size_t size)
{
    char *copy;

    if (!text || !*text)
        return 0;
    copy = malloc(size);
    if (!copy)
        return -1;
    rowlock__utf8_copy(copy, size, text);
    *out = copy;
    return 0;
}

int rowlock__ttl_check(int64_t ttl_ms, struct rowlock_error *error)
{
    if (ttl_ms < ROWLOCK_TTL_LEAST_MS || ttl_ms > ROWLOCK_UNTIL_RELEASED)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "a ttl of %lld ms is too %s; it must be from 1 second to 100 years",
                             (long long)ttl_ms, ttl_ms < ROWLOCK_TTL_LEAST_MS ? "short" : "long");
    return ROWLOCK_OK;
}

int rowlock__request_init(struct rowlock_request *request, struct rowlock_connection *connection,
                          const struct rowlock_want *wants, size_t n,
                          const struct rowlock_terms *terms, struct rowlock_error *error)
{
    static const struct rowlock_terms defaults;
    struct rowlock_wants sorted;
    int code = rowlock__wants_init_lease(&sorted, wants, n, error);

    *request = (struct rowlock_request){.connection = connection,
                                        .want = sorted.want,
                                        .n = sorted.n,
                                        .packed = sorted.packed,
                                        .length = sorted.length,
                                        .pid = getpid()};
    if (!terms)
        terms = &defaults;
    if (!code) {
        request->ttl_ms = terms->ttl_ms == 0 ? ROWLOCK_TTL_MS : terms->ttl_ms;
        code = rowlock__ttl_check(request->ttl_ms, error);
    }
    if (code)
        return code;
    request->keeper_pid = terms->no_process ? 0 : request->pid;
    rowlock__host(request->host, sizeof request->host);
    if (!terms->owner && rowlock__owner_make(NULL, request->owner))
        return rowlock__fail(error, ROWLOCK_EDB,
                             "cannot create an owner id: the system provides no random bytes");
    if (terms->owner && !rowlock__owner_is_formed(terms->owner))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the owner id must be 32 digits of 0-9 and a-f");
    if (terms->owner)
        memcpy(request->owner, terms->owner, sizeof request->owner);
    if (copy_text(&request->command, terms->command, COMMAND_SIZE) ||
        copy_text(&request->note, terms->note, NOTE_SIZE))
        return rowlock__no_memory(error);
    return ROWLOCK_OK;
}

void rowlock__request_clear(struct rowlock_request *request)
{
    free(request->want);
    free(request->packed);
    free((char *)request->command);
    free((char *)request->note);
    *request = (struct rowlock_request){0};
}
