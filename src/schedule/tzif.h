/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a TZif (time zone) file in memory. */
#ifndef ROWLOCK_TZIF_H
#define ROWLOCK_TZIF_H

#include "schedule/posix_tz.h"
#include "schedule/zone.h"

struct rowlock_zone {
    char name[ROWLOCK_ZONE_NAME_MAX + 1];
    int32_t offset_before; /* the offset before the first change */
    int ruled;             /* 1: after the last change `rule` applies */
    struct rowlock_posix_tz rule;
    size_t n;
    struct {
        int64_t at;
        int32_t offset; /* from then on */
    } change[];
};

#endif
