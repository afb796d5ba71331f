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

/* Owner ids that state under which lease, and where, the caller works. */

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

/* A part of 8 digits. */
static uint32_t part(const char *owner, int index)
{
    uint32_t bits = 0;

    for (int i = 8 * index; i < 8 * index + 8; i++)
        bits = bits << 4 | (uint32_t)(strchr(DIGITS, owner[i]) - DIGITS);
    return bits;
}

uint32_t rowlock__owner_parent(const char *owner)
{
    return part(owner, 0);
}

/* The hash of the place where this process has its pid; 0: unknown. */
static uint32_t place(void)
{
    uintmax_t numbering = rowlock__pid_namespace();
    char text[80];

    snprintf(text, sizeof text, "%s/%ju", rowlock__boot_id(), numbering);
    return *text != '/' && numbering ? rowlock__owner_hash(text) : 0;
}

int rowlock__owner_is_from_here(const char *owner)
{
    uint32_t here = place();

    return here && rowlock__owner_is_formed(owner) && part(owner, 1) == here;
}

int rowlock__owner_make(const char *parent, char out[ROWLOCK_OWNER_SIZE])
{
    uint32_t bits[4], here = place();

    if (rowlock__random_bytes(bits, sizeof bits))
        return -1;
    if (rowlock__owner_is_formed(parent))
        bits[0] = rowlock__owner_hash(parent);
    if (here)
        bits[1] = here;
    snprintf(out, ROWLOCK_OWNER_SIZE, "%08x%08x%08x%08x", bits[0], bits[1], bits[2], bits[3]);
    return 0;
}
