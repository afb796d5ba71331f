/* SPDX-License-Identifier: Apache-2.0 */
/* A random cron line, as text and as its meaning. */
#ifndef CRON_LINE_H
#define CRON_LINE_H

#include <stdint.h>

struct cron_line {
    char text[700];
    char has[5][64]; /* of each field, the numbers: Sunday is 0 */
    int starred[5];
};

/* Advances the seed. Some lines never come. */
struct cron_line t_cron_line(uint64_t *seed);

#endif
