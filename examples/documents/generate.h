/* SPDX-License-Identifier: Apache-2.0 */
/* Generated documents: number `n` of a seed is always the same text, so nothing is stored. */
#ifndef DOCUMENTS_GENERATE_H
#define DOCUMENTS_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#define GENERATE_MAX 1024 /* bytes of a document */

struct generator {
    uint64_t documents; /* how many there are */
    uint64_t seed;
    uint64_t versions; /* of one id, on average */
    const char *id_element, *time_element;
};

/* Writes document `number` and returns its length. */
size_t generate(const struct generator *generator, uint64_t number, char text[GENERATE_MAX]);

#endif
