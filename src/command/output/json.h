/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON: one value at a time, or the members of an object. */
#ifndef ROWLOCK_JSON_H
#define ROWLOCK_JSON_H

#include <stdint.h>
#include <stdio.h>

/* A string; NULL or "" is null. Bytes that are not UTF-8 become U+FFFD. */
void json_text(FILE *out, const char *text);
/* 0 is null. */
void json_number(FILE *out, int64_t number);
/* Milliseconds since 1970, as UTC, ISO 8601, with milliseconds; 0 is null. */
void json_instant(FILE *out, int64_t ms);

/* An object that is being written: `before` comes before the next member, "{" at first (without
   braces: ""); `prefix` begins each key. */
struct json {
    FILE *out;
    const char *before, *prefix;
};
/* Writes the key, for a value that follows. */
FILE *json_key(struct json *json, const char *key);
/* A key and its value, as above; _is: true or false; _count: a number, 0 too; without `is` null. */
void json_put_text(struct json *json, const char *key, const char *text);
void json_put_number(struct json *json, const char *key, int64_t number);
void json_put_instant(struct json *json, const char *key, int64_t ms);
void json_put_is(struct json *json, const char *key, int is);
void json_put_count(struct json *json, const char *key, int is, int64_t number);

#define UTC_INSTANT_SIZE 80
/* The same without quotes. Returns 0, or -1 if it is before 1970. */
int utc_instant(int64_t ms, char *out, size_t size);

#endif
