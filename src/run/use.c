/* SPDX-License-Identifier: Apache-2.0 */
/* The verb use: runs a command under a shared lease of a subject, and before it a refresh if
   wanted. */
#include <stdlib.h>

#include "run/refresh/subject_run.h"

/* The command of --refresh, under the exclusive lease. */
static int make_before(struct stage *stage, const struct subject_options *options)
{
    struct run run = options->run;
    struct rowlock_want want = *options->run.lock.wants;
    enum made made;
    int status;

    want.mode = ROWLOCK_EXCLUSIVE;
    run.lock.mode = ROWLOCK_EXCLUSIVE;
    run.lock.wants = &want;
    run.keeps_errors = 1;
    run.argv = run.shell;
    run.shell[0] = "/bin/sh";
    run.shell[1] = "-c";
    run.shell[2] = (char *)options->shell;
    status = refresh_if_stale(stage, options, &run, &made);
    if (!status && made == MADE_HERE && signals_turn_to_wait(&stage->signals)) {
        message("cannot create a file descriptor for signals");
        status = STATUS_FAILED;
    }
    return status;
}

int cmd_use(struct command *command)
{
    struct subject_options options;
    enum used used = USED_NOT;
    struct stage stage;
    int status;

    read_subject_options(command, SUBJECT_USE, &options);
    command->is_farm_wide = options.shell != NULL;
    status = stage_open(&stage, command, &options.run);
    while (!status && used == USED_NOT) {
        if (options.shell)
            status = make_before(&stage, &options);
        if (!status)
            status = use_it(&stage, &options, &used);
    }
    status = stage_close(&stage, status);
    free(options.run.lock.wants);
    return status;
}
