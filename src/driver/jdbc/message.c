/* SPDX-License-Identifier: Apache-2.0 */
/* Packs requests to the helper class, and unpacks its replies. */
#include "driver/jdbc/jvm.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------------------------- */

bool rowlock__jdbc_room(struct rowlock__jdbc_message *message, size_t size)
{
    unsigned char *bigger;

    if (message->broken || size <= message->size)
        return !message->broken;
    bigger = size > INT32_MAX ? NULL : realloc(message->bytes, size + size / 2);
    message->broken = !bigger;
    if (!bigger)
        return false;
    message->bytes = bigger;
    message->size = size + size / 2;
    return true;
}

static void put_bytes(struct rowlock__jdbc_message *message, const void *bytes, size_t length)
{
    if (length == 0 || !rowlock__jdbc_room(message, message->length + length))
        return;
    memcpy(message->bytes + message->length, bytes, length);
    message->length += length;
}

void rowlock__jdbc_put_byte(struct rowlock__jdbc_message *message, int byte)
{
    unsigned char one = (unsigned char)byte;

    put_bytes(message, &one, 1);
}

void rowlock__jdbc_put(struct rowlock__jdbc_message *message, char kind)
{
    message->length = message->at = 0;
    message->broken = false;
    rowlock__jdbc_put_byte(message, kind);
}

static void put_number(struct rowlock__jdbc_message *message, int64_t number, unsigned bytes)
{
    while (bytes-- > 0)
        rowlock__jdbc_put_byte(message, (int)((uint64_t)number >> (8 * bytes) & 0xff));
}

void rowlock__jdbc_put_int(struct rowlock__jdbc_message *message, int32_t number)
{
    put_number(message, number, 4);
}

void rowlock__jdbc_put_text(struct rowlock__jdbc_message *message, const char *text, size_t length)
{
    message->broken = message->broken || length > INT32_MAX;
    put_number(message, (int64_t)length, 4);
    put_bytes(message, text, length);
}

void rowlock__jdbc_put_call(struct rowlock__jdbc_message *message, const struct rowlock_call *call)
{
    const struct rowlock_statement *statement = call->statement;

    rowlock__jdbc_put(message, 'x');
    rowlock__jdbc_put_text(message, statement->text, strlen(statement->text));
    rowlock__jdbc_put_byte(message, (int)statement->parameters);
    for (unsigned i = 0; i < statement->parameters; i++) {
        const struct rowlock_value *value = &call->values[i];

        switch (value->type) {
        case ROWLOCK_INT:
            rowlock__jdbc_put_byte(message, 'i');
            put_number(message, value->number, 8);
            break;
        case ROWLOCK_BYTES:
            rowlock__jdbc_put_byte(message, 't');
            rowlock__jdbc_put_text(message, value->bytes, value->length);
            break;
        case ROWLOCK_NULL:
            rowlock__jdbc_put_byte(message,
                                   statement->types && statement->types[i] == 'i' ? 'I' : 'T');
            break;
        }
    }
}

/* ---- reading ------------------------------------------------------------------------------- */

static const unsigned char *get_bytes(struct rowlock__jdbc_message *message, size_t length)
{
    const unsigned char *bytes = message->bytes + message->at;

    if (message->broken || length > message->length - message->at) {
        message->broken = true;
        return NULL;
    }
    message->at += length;
    return bytes;
}

int64_t rowlock__jdbc_get_number(struct rowlock__jdbc_message *message, unsigned bytes)
{
    const unsigned char *from = get_bytes(message, bytes);
    uint64_t number = from && bytes > 0 && from[0] & 0x80 ? UINT64_MAX : 0;

    for (unsigned i = 0; from && i < bytes; i++)
        number = number << 8 | from[i];
    return (int64_t)number;
}

int rowlock__jdbc_get_byte(struct rowlock__jdbc_message *message)
{
    const unsigned char *byte = get_bytes(message, 1);

    return byte ? *byte : -1;
}

const char *rowlock__jdbc_get_text(struct rowlock__jdbc_message *message, size_t *length)
{
    int64_t size = rowlock__jdbc_get_number(message, 4);
    const unsigned char *bytes = get_bytes(message, (size_t)size);

    *length = bytes ? (size_t)size : 0;
    return bytes ? (const char *)bytes : "";
}

void rowlock__jdbc_get_string(struct rowlock__jdbc_message *message, char *out, size_t size)
{
    size_t length;
    const char *text = rowlock__jdbc_get_text(message, &length);

    if (length > size - 1)
        length = size - 1;
    memcpy(out, text, length);
    out[length] = '\0';
}

static void get_value(struct rowlock__jdbc_message *message, struct rowlock_value *value)
{
    *value = (struct rowlock_value){.type = ROWLOCK_NULL};
    switch (rowlock__jdbc_get_byte(message)) {
    case 'i':
        value->type = ROWLOCK_INT;
        value->number = rowlock__jdbc_get_number(message, 8);
        break;
    case 't':
        value->type = ROWLOCK_BYTES;
        value->bytes = rowlock__jdbc_get_text(message, &value->length);
        break;
    default:
        break;
    }
}

void rowlock__jdbc_get_rows(struct rowlock__jdbc_message *message, struct rowlock_call *call)
{
    struct rowlock_value columns[ROWLOCK_COLUMNS];
    int64_t n;

    if (message->broken || message->at == message->length)
        return;
    n = rowlock__jdbc_get_number(message, 4);
    message->broken = message->broken || n < 1 || n > ROWLOCK_COLUMNS;
    while (!message->broken && message->at < message->length) {
        for (int64_t i = 0; i < n; i++)
            get_value(message, &columns[i]);
        if (!message->broken && call->row)
            call->row(call->data, columns, (unsigned)n);
    }
}
