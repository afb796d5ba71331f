/* SPDX-License-Identifier: Apache-2.0 */
/* One worker process: takes documents from the board until there are none. */
#ifndef DOCUMENTS_WORKER_H
#define DOCUMENTS_WORKER_H

#include "board.h"
#include "options.h"
#include "store.h"

struct job {
    const struct options *options;
    struct board *board;
    int stop_fd; /* readable, or at its end: stop after the document in hand */
    int report_fd;
};

/* The worker's exit status: 0 no document is left or it was stopped, 1 it cannot continue. */
int worker_run(const struct job *job, struct hand *hand);

/* Opens the database; `store` too. The parent uses it too, to create the table. */
int database_open(const struct options *options, int stop_fd,
                  struct rowlock_connection **connection, struct store **store,
                  struct rowlock_error *error);

#endif
