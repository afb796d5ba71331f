/* SPDX-License-Identifier: Apache-2.0 */
/* Random cron lines: see cron_line.h. */
#include "lib/cron_line.h"

#include <stdio.h>
#include <string.h>

#include "lib/instants.h"

static const int low[] = {0, 0, 1, 1, 0}, high[] = {59, 23, 31, 12, 7};

static void add(struct cron_line *line, int field, int first, int last, int step)
{
    for (int i = first; i <= last; i += step)
        line->has[field][field == 4 && i == 7 ? 0 : i] = 1;
}

static void random_item(struct cron_line *line, int field, char *out, size_t size, uint64_t *seed)
{
    int span = high[field] - low[field] + 1;
    int early = field == 1 && t_random(seed, 4); /* most clock changes happen before four */
    int first = low[field] + (int)t_random(seed, early ? 4 : (uint32_t)span);
    int last = first + (int)t_random(seed, (uint32_t)(high[field] - first + 1));
    int step = 1 + (int)t_random(seed, 7);

    switch (t_random(seed, 4)) {
    case 0:
        add(line, field, first, first, 1);
        snprintf(out, size, "%d", first);
        break;
    case 1:
        add(line, field, first, last, 1);
        snprintf(out, size, "%d-%d", first, last);
        break;
    case 2:
        add(line, field, first, last, step);
        snprintf(out, size, "%d-%d/%d", first, last, step);
        break;
    default:
        add(line, field, low[field], high[field], step);
        snprintf(out, size, "*/%d", step);
    }
}

static void random_field(struct cron_line *line, int field, uint64_t *seed)
{
    size_t start = strlen(line->text);
    char *at = line->text + start;

    if (t_random(seed, field < 2 ? 4 : 2) == 0) {
        add(line, field, low[field], high[field], 1);
        strcpy(at, "*");
    } else {
        for (uint32_t n = 1 + t_random(seed, 3); n > 0; n--) {
            random_item(line, field, at + strlen(at), 40, seed);
            strcat(at, n > 1 ? "," : "");
        }
    }
    line->starred[field] = *at == '*';
    strcat(at, field < 4 ? " " : "");
}

struct cron_line t_cron_line(uint64_t *seed)
{
    struct cron_line line = {0};

    for (int field = 0; field < 5; field++)
        random_field(&line, field, seed);
    return line;
}
