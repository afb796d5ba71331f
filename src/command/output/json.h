/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON, one value at a time; the members of a row: list.h. */
#ifndef ROWLOCK_JSON_H
#define ROWLOCK_JSON_H

#include <stdint.h>
#include <stdio.h>

/* A string; NULL or "" is null. Bytes that are not UTF-8 become U+FFFD; characters that control a
   terminal are escaped. */
void json_text(FILE *out, const char *text);
/* A number; 0 is null, because it stands for "none": of a token, a pid, a ticket. */
void json_number(FILE *out, int64_t number);
/* The number; null if `is` is 0. */
void json_count(FILE *out, int is, int64_t number);
/* Milliseconds since 1970, as UTC, ISO 8601, with milliseconds: "2026-11-21T01:00:01.000Z". 0,
   INT64_MAX and times before 1970 are null. */
void json_instant(FILE *out, int64_t ms);

#define UTC_INSTANT_SIZE 80 /* room for such a text */
/* The same without quotes. Returns 0, or -1 if it is before 1970. */
int utc_instant(int64_t ms, char *out, size_t size);

#endif
