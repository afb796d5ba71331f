/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the protobuf encoding that etcd's few messages need: fields of numbers and of bytes.
 * https://protobuf.dev/programming-guides/encoding/
 */
#ifndef BENCH_PROTOBUF_H
#define BENCH_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#define PROTOBUF_MOST 1000

struct protobuf { /* a message being written */
    unsigned char data[PROTOBUF_MOST];
    size_t size;
};

void protobuf_number(struct protobuf *message, unsigned field, uint64_t value);
void protobuf_bytes(struct protobuf *message, unsigned field, const void *data, size_t size);
void protobuf_text(struct protobuf *message, unsigned field, const char *text);
void protobuf_message(struct protobuf *message, unsigned field, const struct protobuf *inner);

struct protobuf_view { /* a message being read */
    const unsigned char *data;
    size_t size;
};
/* The first field of that number; 0 and no bytes if there is none. */
uint64_t protobuf_get_number(struct protobuf_view message, unsigned field);
struct protobuf_view protobuf_get(struct protobuf_view message, unsigned field);
/* The n-th field of that number, counted from 0. */
struct protobuf_view protobuf_get_nth(struct protobuf_view message, unsigned field, unsigned n);

#endif
