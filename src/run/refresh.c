/* SPDX-License-Identifier: Apache-2.0 */
/* The verb refresh: runs a command that refreshes a subject, if the subject is stale. */
#include <stdio.h>
#include <stdlib.h>

#include "run/refresh/subject_run.h"

static int refresh(struct stage *stage, const struct command *command,
                   const struct subject_options *options)
{
    enum made made = MADE_NOT;
    int status = stage_open(stage, command, &options->run);

    if (status)
        return status;
    status = refresh_if_stale(stage, options, &options->run, &made);
    if (command->json && (made != MADE_NOT || stage->outcome.acquired)) {
        /* After the command's own output. */
        printf("{\"refreshed\":%s}\n", made == MADE_HERE ? "true" : "false");
    }
    return made == MADE_FRESH || made == MADE_ELSEWHERE ? options->quiet : status;
}

int cmd_refresh(struct command *command)
{
    struct subject_options options;
    struct stage stage;
    int status;

    read_subject_options(command, SUBJECT_REFRESH, &options);
    options.run.keeps_errors = 1;
    command->is_farm_wide = 1;
    status = stage_close(&stage, refresh(&stage, command, &options));
    free(options.run.lock.wants);
    return status;
}
