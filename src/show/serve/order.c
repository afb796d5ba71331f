/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an order: a flat JSON object of texts, true and false. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "show/serve/actions.h"
#include "util/bytes.h"
#include "util/utf8.h"

static const struct {
    const char *key;
    size_t at, size; /* size 0: a flag */
} members[] = {
    {"name", offsetof(struct order, name), sizeof(((struct order *)0)->name)},
    {"note", offsetof(struct order, note), sizeof(((struct order *)0)->note)},
    {"for", offsetof(struct order, lasts), sizeof(((struct order *)0)->lasts)},
    {"token", offsetof(struct order, token), sizeof(((struct order *)0)->token)},
    {"user", offsetof(struct order, user), sizeof(((struct order *)0)->user)},
    {"password", offsetof(struct order, password), sizeof(((struct order *)0)->password)},
    {"now", offsetof(struct order, now), 0},
};

enum { MEMBERS = sizeof members / sizeof *members };

struct reading {
    const char *at;
    const char *why; /* NULL: no mistake so far */
};

static void skip_blanks(struct reading *reading)
{
    reading->at += strspn(reading->at, " \t\r\n");
}

/* Takes the character if it is next. */
static int take(struct reading *reading, char character)
{
    skip_blanks(reading);
    if (*reading->at != character)
        return 0;
    reading->at++;
    return 1;
}

/* The four digits of \uXXXX; -1: there are none. */
static long read_unit(struct reading *reading)
{
    int high = rowlock__hex_byte(reading->at);
    int low = high < 0 ? -1 : rowlock__hex_byte(reading->at + 2);

    if (low < 0)
        return -1;
    reading->at += 4;
    return high * 256L + low;
}

static size_t put_utf8(char *out, unsigned long code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* After \u: one character, of one or two units. 0: a mistake, or the character zero. */
static size_t read_unicode(struct reading *reading, char *out)
{
    long code = read_unit(reading), second;

    if (code >= 0xd800 && code < 0xdc00) {
        if (strncmp(reading->at, "\\u", 2) != 0)
            return 0;
        reading->at += 2;
        second = read_unit(reading);
        if (second < 0xdc00 || second > 0xdfff)
            return 0;
        code = 0x10000 + (code - 0xd800) * 0x400 + (second - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return 0;
    }
    return code > 0 ? put_utf8(out, (unsigned long)code) : 0;
}

/* One character of a text. Returns its bytes; 0: a mistake. */
static size_t read_character(struct reading *reading, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if ((unsigned char)*reading->at < ' ')
        return 0;
    *out = *reading->at++;
    if (*out != '\\')
        return 1;
    if (*reading->at == 'u') {
        reading->at++;
        return read_unicode(reading, out);
    }
    found = *reading->at ? strchr(from, *reading->at) : NULL;
    if (!found)
        return 0;
    reading->at++;
    *out = to[found - from];
    return 1;
}

/* A text of less than `size` bytes. */
static void read_text(struct reading *reading, char *out, size_t size)
{
    size_t length = 0;

    *out = '\0';
    if (!take(reading, '"')) {
        reading->why = "the body is not an object of texts, true and false";
        return;
    }
    while (*reading->at != '"') {
        char character[4];
        size_t n = read_character(reading, character);

        if (n == 0)
            reading->why = "the body has a malformed text";
        else if (length + n >= size)
            reading->why = "a text in the body is too long";
        if (reading->why)
            return;
        memcpy(out + length, character, n);
        length += n;
    }
    reading->at++;
    out[length] = '\0';
    if (rowlock__utf8_length(out, length) < 0)
        reading->why = "the body is not UTF-8";
}

static void read_member(struct reading *reading, struct order *order, unsigned *seen)
{
    char key[16] = "", *at;
    size_t i = 0, n;
    int *flag;

    read_text(reading, key, sizeof key);
    if (reading->why)
        return;
    while (i < MEMBERS && strcmp(members[i].key, key) != 0)
        i++;
    if (i == MEMBERS || *seen & 1u << i)
        reading->why = "the body has an unknown member, or one twice";
    if (!reading->why && !take(reading, ':'))
        reading->why = "the body is not JSON";
    if (reading->why)
        return;
    *seen |= 1u << i;
    at = (char *)order + members[i].at;
    skip_blanks(reading);
    n = strspn(reading->at, "0123456789");
    if (members[i].size == 0) {
        flag = (int *)(void *)at;
        *flag = strncmp(reading->at, "true", 4) == 0;
        if (*flag || strncmp(reading->at, "false", 5) == 0)
            reading->at += *flag ? 4 : 5;
        else
            reading->why = "a member must be true or false";
    } else if (strcmp(key, "token") == 0 && n > 0 && n < members[i].size) {
        memcpy(at, reading->at, n); /* a token may also be a number */
        at[n] = '\0';
        reading->at += n;
    } else {
        read_text(reading, at, members[i].size);
    }
}

const char *order_read(struct order *order, const char *text)
{
    struct reading reading = {.at = text};
    unsigned seen = 0;

    if (!take(&reading, '{'))
        return "the body is not a JSON object";
    if (!take(&reading, '}')) {
        do
            read_member(&reading, order, &seen);
        while (!reading.why && take(&reading, ','));
        if (!reading.why && !take(&reading, '}'))
            reading.why = "the body is not JSON";
    }
    skip_blanks(&reading);
    if (!reading.why && *reading.at)
        reading.why = "the body has more than one object";
    return reading.why;
}
