/* SPDX-License-Identifier: Apache-2.0 */
/* Names as the tables have them, and the packed requests. */
#include <stdlib.h>
#include <string.h>

#include "emulate/work.h"
#include "util/bytes.h"
#include "util/error.h"

static char *put_bytes(char *out, const char *bytes, size_t length)
{
    if (length)
        memcpy(out, bytes, length);
    out[length] = '\0';
    return out + length;
}

void rowlock__key(const struct rowlock_work *work, const char *prefix,
                  const struct rowlock_value *name, char out[ROWLOCK_KEY_SIZE])
{
    char *(*put)(char *, const char *, size_t) =
        work->link->dialect->plain->bare_names ? put_bytes : rowlock__put_hex;
    size_t before = strlen(prefix), length = name->type == ROWLOCK_BYTES ? name->length : 0;

    if (length > 255 - before) /* cannot happen: such a name was refused before */
        length = 255 - before;
    put(put(out, prefix, before), name->bytes, length);
}

const char *rowlock__work_key(struct rowlock_work *work, unsigned i)
{
    rowlock__key(work, "", &work->call->values[i], work->key);
    return work->key;
}

/* Returns the number of bytes. A byte whose digits are not hexadecimal becomes '?': only a row that
   was written by hand has one. */
static size_t take_hex(char *out, const char *hex, size_t length)
{
    for (size_t i = 0; i < length / 2; i++) {
        int byte = rowlock__hex_byte(hex + 2 * i);

        out[i] = (char)(byte < 0 ? '?' : byte);
    }
    return length / 2;
}

void rowlock__key_name(const struct rowlock_work *work, struct rowlock_value key, char out[256])
{
    bool bare = work->link->dialect->plain->bare_names;
    size_t length = key.type == ROWLOCK_BYTES ? key.length : 0, most = bare ? 255 : 510;

    if (length > most)
        length = most;
    if (bare)
        put_bytes(out, key.bytes, length);
    else
        out[take_hex(out, key.bytes, length)] = '\0';
}

/* Reads HEX:x|s:token of a lock, or HEX:x|s|p:limit:count of a lease. Returns the end of it. */
static const char *read_wish(const char *at, const char *end, bool bare, struct rowlock_wish *out)
{
    size_t length = 0;
    int64_t numbers[2] = {0, 0};

    *out = (struct rowlock_wish){.kind = 'x'};
    while (at < end && *at != ':' && length < sizeof out->key - 1)
        out->key[length++] = *at++;
    if (bare)
        out->key[take_hex(out->key, out->key, length)] = '\0';
    if (end - at > 1)
        out->kind = at[1];
    at += end - at > 1 ? 2 : end - at;
    for (int i = 0; i < 2 && at < end && *at == ':'; i++)
        for (at++; at < end && *at >= '0' && *at <= '9'; at++)
            numbers[i] = numbers[i] * 10 + (*at - '0');
    out->token = out->limit = numbers[0];
    out->count = numbers[1] > 1 ? numbers[1] : 1;
    return at < end ? at + 1 : at;
}

int rowlock__wishes(struct rowlock_work *work, const struct rowlock_value *packed,
                    struct rowlock_wish **out, size_t *n)
{
    bool bare = work->link->dialect->plain->bare_names;
    const char *at = packed->bytes, *end = at + packed->length;
    size_t room = 1;

    *n = 0;
    for (size_t i = 0; i < packed->length; i++)
        room += packed->bytes[i] == ',';
    *out = malloc(room * sizeof **out);
    if (!*out)
        return rowlock__no_memory(work->error);
    while (at < end && *n < room)
        at = read_wish(at, end, bare, &(*out)[(*n)++]);
    return ROWLOCK_OK;
}

const char *rowlock__read_lease(const struct rowlock_work *work, const char *at, const char *end,
                                struct rowlock_value *token, char key[ROWLOCK_KEY_SIZE],
                                struct rowlock_value *owner)
{
    const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
    int64_t number = 0;
    size_t length = 0;

    for (; at < stop && *at != ':'; at++)
        number = number * 10 + (*at - '0');
    for (at += at < stop; at < stop && *at != ':' && length < ROWLOCK_KEY_SIZE - 1; at++)
        key[length++] = *at;
    if (work->link->dialect->plain->bare_names)
        length = take_hex(key, key, length);
    key[length] = '\0';
    at += at < stop;
    *token = rowlock__int_value(number);
    *owner = at < stop ? rowlock__bytes_value(at, (size_t)(stop - at)) : rowlock__text_value(NULL);
    return comma ? comma + 1 : end;
}
