/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON, one value at a time; the members of a row: list.h. */
#ifndef ROWLOCK_JSON_H
#define ROWLOCK_JSON_H

#include <stdint.h>
#include <stdio.h>

/* A string; NULL or "" is null. Bytes that are not UTF-8 become U+FFFD. */
void json_text(FILE *out, const char *text);
/* 0 is null. */
void json_number(FILE *out, int64_t number);
/* The number; null if `is` is 0. */
void json_count(FILE *out, int is, int64_t number);
/* Milliseconds since 1970, as UTC, ISO 8601, with milliseconds; 0 and INT64_MAX are null. */
void json_instant(FILE *out, int64_t ms);

#define UTC_INSTANT_SIZE 80
/* The same without quotes. Returns 0, or -1 if it is before 1970. */
int utc_instant(int64_t ms, char *out, size_t size);

#endif
