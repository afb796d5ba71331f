/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the check of a list of requests: one name per line, after "s", "x" or "t". An accepted
 * list is sorted, has each name once, in well-formed UTF-8 of 1 to 255 bytes; and its packed text
 * equals the list.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "lock/wants.h"
#include "util/utf8.h"

#define MOST 32

static size_t split(char *text, struct rowlock_want *want)
{
    size_t n = 0;
    char *line;

    while (n < MOST && (line = strsep(&text, "\n")) != NULL) {
        if (*line == '\0')
            continue;
        want[n].mode = *line == 's' ? ROWLOCK_SHARED : ROWLOCK_EXCLUSIVE;
        want[n].token = *line == 't' ? (int64_t)n : 0;
        want[n++].name = line + 1;
    }
    return n;
}

/* Reads one request from the packed text and compares it. */
static const char *unpack(const char *at, const struct rowlock_want *want)
{
    char token[32];

    for (const char *byte = want->name; *byte; byte++, at += 2) {
        unsigned value = 0;

        fuzz_check(sscanf(at, "%2X", &value) == 1 && value == (unsigned char)*byte);
    }
    fuzz_check(at[0] == ':' && at[1] == (want->mode == ROWLOCK_SHARED ? 's' : 'x') && at[2] == ':');
    snprintf(token, sizeof token, "%lld", (long long)want->token);
    fuzz_check(strncmp(at + 3, token, strlen(token)) == 0);
    return at + 3 + strlen(token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rowlock_want want[MOST];
    struct rowlock_wants wants;
    struct rowlock_error error = {0};
    char *text = fuzz_text(data, size);
    size_t n = split(text, want);
    int code = rowlock__wants_init(&wants, want, n, &error);

    fuzz_check(code == 0 || (code == ROWLOCK_EINVAL && error.text[0]));
    for (const char *c = error.text; *c; c++)
        fuzz_check((unsigned char)*c >= 0x20);
    if (code == 0) {
        const char *at = wants.packed;

        fuzz_check(wants.n > 0 && wants.n <= n);
        for (size_t i = 0; i < wants.n; i++) {
            size_t length = strlen(wants.want[i].name);

            fuzz_check(length > 0 && length <= ROWLOCK_NAME_MAX);
            fuzz_check(rowlock__utf8_length(wants.want[i].name, length) > 0);
            fuzz_check(i == 0 || strcmp(wants.want[i - 1].name, wants.want[i].name) < 0);
            at = unpack(at, &wants.want[i]);
            if (i + 1 < wants.n)
                fuzz_check(*at++ == ',');
        }
        fuzz_check((size_t)(at - wants.packed) == wants.length);
    }
    rowlock__wants_clear(&wants);
    free(text);
    return 0;
}
