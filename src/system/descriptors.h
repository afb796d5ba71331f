/* SPDX-License-Identifier: Apache-2.0 */
/* The process's file descriptors. */
#ifndef ROWLOCK_SYSTEM_DESCRIPTORS_H
#define ROWLOCK_SYSTEM_DESCRIPTORS_H

#include <stdbool.h>

/* A pipe whose ends are closed by exec. 0; or -1 with errno. With POSIX alone, a process that
   another thread starts at the same moment may inherit them. */
int rowlock__pipe(int ends[2]);

/* Calls visit(data, fd) for each open descriptor. */
void rowlock__visit_descriptors(void (*visit)(void *data, int fd), void *data);

/* Whether the other side has ended this idle connection. `fd` < 0: false. With POSIX alone it is
   also false while bytes wait to be read. */
bool rowlock__has_hung_up(int fd);

#endif
