/* SPDX-License-Identifier: Apache-2.0 */
/* The parent: starts the workers, puts up documents, replaces workers that die, handles Ctrl-C. */
#ifndef DOCUMENTS_SUPERVISE_H
#define DOCUMENTS_SUPERVISE_H

#include "board.h"
#include "options.h"

struct summary {
    uint64_t count[VERDICT_REFUSED + 1];
    uint64_t read, undone, lost, deaths;
    uint64_t peak_kib; /* of the worker that used most memory */
    bool interrupted;  /* by a signal */
    bool folders_left; /* some could not be read completely: more documents may be undone */
    double seconds;
};

/* From now on INT, TERM and HUP only make *stop_fd readable. 0, or -1 and errno. */
int signals_catch(int *stop_fd);
bool signals_seen(void);

/* Returns when all workers have ended. 0, or -1 and a message on stderr. */
int supervise(const struct options *options, int stop_fd, int report_fd, struct summary *summary);

#endif
