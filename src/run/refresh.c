/* SPDX-License-Identifier: Apache-2.0 */
/* The verb refresh: runs a command that refreshes a subject, if the subject is stale. */
#include <stdio.h>
#include <stdlib.h>

#include "run/refresh/subject_run.h"

int cmd_refresh(struct command *command)
{
    struct subject_options options;
    enum made made = MADE_NOT;
    struct stage stage;
    int status;

    read_subject_options(command, SUBJECT_REFRESH, &options);
    options.run.keeps_errors = 1;
    command->is_farm_wide = 1;
    status = stage_open(&stage, command, &options.run);
    if (!status)
        status = refresh_if_stale(&stage, &options, &options.run, &made);
    if (command->json && (made != MADE_NOT || stage.outcome.acquired)) /* after its own output */
        printf("{\"refreshed\":%s}\n", made == MADE_HERE ? "true" : "false");
    if (made == MADE_FRESH || made == MADE_ELSEWHERE)
        status = options.quiet;
    status = stage_close(&stage, status);
    free(options.run.lock.wants);
    return status;
}
