/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and decodes protobuf messages (protobuf.h). */
#include "peers/protobuf.h"

#include <string.h>

#include "peer.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void append(struct protobuf *message, const void *data, size_t size)
{
    if (message->size + size > sizeof message->data)
        bench_die("a protobuf message is too long");
    memcpy(message->data + message->size, data, size);
    message->size += size;
}

static void varint(struct protobuf *message, uint64_t value)
{
    unsigned char byte;

    do {
        byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        append(message, &byte, 1);
        value >>= 7;
    } while (value);
}

void protobuf_number(struct protobuf *message, unsigned field, uint64_t value)
{
    varint(message, field << 3 | VARINT);
    varint(message, value);
}

void protobuf_bytes(struct protobuf *message, unsigned field, const void *data, size_t size)
{
    varint(message, field << 3 | BYTES);
    varint(message, size);
    append(message, data, size);
}

void protobuf_text(struct protobuf *message, unsigned field, const char *text)
{
    protobuf_bytes(message, field, text, strlen(text));
}

void protobuf_message(struct protobuf *message, unsigned field, const struct protobuf *inner)
{
    protobuf_bytes(message, field, inner->data, inner->size);
}

/* ---- reading: a truncated or unknown field ends the message ---------------------------------- */

static int read_varint(struct protobuf_view *rest, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; rest->size > 0 && shift < 64; shift += 7) {
        unsigned char byte = *rest->data++;

        rest->size--;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return 1;
    }
    return 0;
}

static int skip(struct protobuf_view *rest, size_t size)
{
    if (size > rest->size)
        return 0;
    rest->data += size;
    rest->size -= size;
    return 1;
}

/* Reads the next field: its number, and its value or its bytes. Returns 0 if there is none. */
static int next(struct protobuf_view *rest, unsigned *field, uint64_t *value,
                struct protobuf_view *bytes)
{
    uint64_t tag;

    *bytes = (struct protobuf_view){NULL, 0};
    if (!read_varint(rest, &tag))
        return 0;
    *field = (unsigned)(tag >> 3);
    switch (tag & 7) {
    case VARINT:
        return read_varint(rest, value);
    case FIXED64:
        return skip(rest, 8);
    case FIXED32:
        return skip(rest, 4);
    case BYTES:
        if (!read_varint(rest, value) || *value > rest->size)
            return 0;
        *bytes = (struct protobuf_view){rest->data, (size_t)*value};
        return skip(rest, bytes->size);
    default:
        return 0;
    }
}

uint64_t protobuf_get_number(struct protobuf_view message, unsigned field)
{
    struct protobuf_view bytes;
    unsigned found;
    uint64_t value;

    while (next(&message, &found, &value, &bytes))
        if (found == field && !bytes.data)
            return value;
    return 0;
}

struct protobuf_view protobuf_get_nth(struct protobuf_view message, unsigned field, unsigned n)
{
    struct protobuf_view bytes;
    unsigned found;
    uint64_t value;

    while (next(&message, &found, &value, &bytes))
        if (found == field && bytes.data && n-- == 0)
            return bytes;
    return (struct protobuf_view){NULL, 0};
}

struct protobuf_view protobuf_get(struct protobuf_view message, unsigned field)
{
    return protobuf_get_nth(message, field, 0);
}
