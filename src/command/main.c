/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock, the command: a table of verbs. Each has a file of its own, cmd_<verb>.c. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

/* In the order of `rowlock help`. */
const struct verb verbs[] = {
    {"run", cmd_run},           {"acquire", cmd_acquire}, {"renew", cmd_renew},
    {"release", cmd_release},   {"check", cmd_check},     {"hold", cmd_hold},
    {"job", cmd_job},           {"cron", cmd_cron},       {"jobs", cmd_jobs},
    {"refresh", cmd_refresh},   {"use", cmd_use},         {"expire", cmd_expire},
    {"subjects", cmd_subjects}, {"next", cmd_next},       {"ls", cmd_ls},
    {"break", cmd_break},       {"schema", cmd_schema},   {"vacuum", cmd_vacuum},
    {"demo", cmd_demo},         {"help", cmd_help},       {NULL, NULL},
};

const struct verb *find_verb(const char *name)
{
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

/* A file that may not grow (ulimit -f) is an error of the write, which says so; not our death. */
static struct sigaction too_large;

static void be_told_of_large_files(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGXFSZ, &ignore, &too_large);
}

void leave_large_files_to_command(void)
{
    sigaction(SIGXFSZ, &too_large, NULL);
}

int main(int argc, char **argv)
{
    struct command command = {0};
    int status;

    keep_standard_places();
    be_told_of_large_files();
    read_globals(&command, argc, argv);
    status = command.verb->run(&command);
    if (status == STATUS_OK || status == STATUS_ANSWER_IS_NO)
        status = finish_output() ? STATUS_FAILED : status;
    free(command.operands);
    free(command.db);
    return status;
}
