/* SPDX-License-Identifier: Apache-2.0 */
/* The hash behind H in a crontab line. Another hash would move every job that uses H. */
#include "schedule/cron.h"

static uint64_t add(uint64_t hash, unsigned char byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* The low bits of FNV-1a depend on the low bits of each byte alone, and fields must be independent
   of each other. */
static uint64_t mix(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

int rowlock__cron_hash(enum rowlock_cron_field field, const char *name, int span)
{
    uint64_t hash = add(UINT64_C(0xcbf29ce484222325), (unsigned char)('0' + field));

    while (*name)
        hash = add(hash, (unsigned char)*name++);
    return (int)(mix(hash) % (uint64_t)span);
}
