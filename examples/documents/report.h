/* SPDX-License-Identifier: Apache-2.0 */
/* Which documents were refused and why: one line each, path, tab, reason. */
#ifndef DOCUMENTS_REPORT_H
#define DOCUMENTS_REPORT_H

#include <stdint.h>

#define REPORT_LINE 8192

/* Empties the file. The descriptor is shared by all workers; -1 and errno. */
int report_open(const char *path);
/* `path` empty: the generated document `number`. Control characters are written as \xNN. */
void report_refused(int fd, const char *path, uint64_t number, const char *reason);
/* The same on stderr, for work left undone. */
void report_undone(const char *path, uint64_t number, const char *reason);

#endif
