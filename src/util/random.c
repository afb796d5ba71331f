/* SPDX-License-Identifier: Apache-2.0 */
/* Random bits for jitter. */
#include "util/random.h"

#include <stdio.h>
#include <string.h>

#include "system/system.h"

uint32_t rowlock__dice(void)
{
    uint32_t bits = 0;

    return rowlock__random_bytes(&bits, sizeof bits) ? 0 : bits;
}

/* Owner ids that state under which lease the caller works. */

#define DIGITS "0123456789abcdef"

int rowlock__owner_is_formed(const char *owner)
{
    return owner && strlen(owner) == ROWLOCK_OWNER_SIZE - 1 &&
           strspn(owner, DIGITS) == ROWLOCK_OWNER_SIZE - 1;
}

/* 32-bit FNV-1a. */
uint32_t rowlock__owner_hash(const char *owner)
{
    uint32_t hash = UINT32_C(2166136261);

    for (; *owner; owner++)
        hash = (hash ^ (unsigned char)*owner) * UINT32_C(16777619);
    return hash;
}

uint32_t rowlock__owner_parent(const char *owner)
{
    uint32_t parent = 0;

    for (int i = 0; i < 8; i++)
        parent = parent << 4 | (uint32_t)(strchr(DIGITS, owner[i]) - DIGITS);
    return parent;
}

int rowlock__owner_make(const char *parent, char out[ROWLOCK_OWNER_SIZE])
{
    uint32_t bits[4];

    if (rowlock__random_bytes(bits, sizeof bits))
        return -1;
    if (rowlock__owner_is_formed(parent))
        bits[0] = rowlock__owner_hash(parent);
    snprintf(out, ROWLOCK_OWNER_SIZE, "%08x%08x%08x%08x", bits[0], bits[1], bits[2], bits[3]);
    return 0;
}
