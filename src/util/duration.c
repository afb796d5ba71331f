/* SPDX-License-Identifier: Apache-2.0 */
/* Parses durations such as "90s" or "1h30m" into milliseconds. */
#include "util/duration.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"w", 604800000}, {"d", 86400000}, {"h", 3600000},
             {"ms", 1},        {"m", 60000},    {"s", 1000}};

#define FRACTION_DIGITS 9

struct number {
    int64_t whole;
    int64_t fraction, scale; /* fraction / scale */
    int more;                /* further digits follow that are not all zero */
};

/* The end of the number, or NULL. */
static const char *read_number(const char *at, struct number *out)
{
    const char *start = at;

    *out = (struct number){.scale = 1};
    for (; isdigit((unsigned char)*at); at++) {
        int digit = *at - '0';

        if (out->whole > (INT64_MAX - digit) / 10)
            return NULL;
        out->whole = out->whole * 10 + digit;
    }
    if (*at == '.') {
        start = ++at;
        for (int digits = 0; isdigit((unsigned char)*at); at++, digits++) {
            if (digits < FRACTION_DIGITS) {
                out->fraction = out->fraction * 10 + (*at - '0');
                out->scale *= 10;
            } else if (*at != '0') {
                out->more = 1;
            }
        }
    }
    return at == start ? NULL : at;
}

/* 0: no known unit. */
static int64_t read_unit(const char **at)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t length = strlen(units[i].name);

        if (strncmp(*at, units[i].name, length) == 0) {
            *at += length;
            return units[i].ms;
        }
    }
    return 0;
}

int rowlock__duration(const char *text, int64_t bare_ms, int64_t *ms)
{
    int64_t total = 0, last = INT64_MAX;
    const char *at = text;

    if (!*at)
        return -1;
    while (*at) {
        struct number number;
        int64_t unit, part;

        at = read_number(at, &number);
        if (!at)
            return -1;
        unit = read_unit(&at);
        if (unit == 0 && !*at && last == INT64_MAX)
            unit = bare_ms;
        if (unit == 0 || unit >= last)
            return -1;
        last = unit;
        /* at most 1e9 times 604800000: no overflow */
        part = number.fraction * unit;
        part = part / number.scale + (part % number.scale != 0 || number.more);
        if (part > INT64_MAX - total || number.whole > (INT64_MAX - total - part) / unit)
            return -1;
        total += number.whole * unit + part;
    }
    *ms = total;
    return 0;
}
