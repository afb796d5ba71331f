/* SPDX-License-Identifier: Apache-2.0 */
/* The progress on stderr: a bar on a terminal, otherwise a line every few seconds. */
#ifndef DOCUMENTS_PROGRESS_H
#define DOCUMENTS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool terminal;
    uint64_t total; /* 0: not known */
    double started, shown;
};

double monotonic_seconds(void);
bool progress_wants_total(void);
void progress_start(struct progress *progress, uint64_t total);
void progress_show(struct progress *progress, uint64_t read);
void progress_end(struct progress *progress, uint64_t read);

#endif
