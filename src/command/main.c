/* SPDX-License-Identifier: Apache-2.0 */
/* The command rowlock: the table of its verbs. Each verb has a file of its own, <verb>.c. */
#include <stdlib.h>

#include "command/command.h"
#include "command/signals.h"

/* In the order of `rowlock help`, one a line. */
/* clang-format off */
static const struct verb verbs[] = {
    {"run", cmd_run, 1},
    {"acquire", cmd_acquire, 1},
    {"renew", cmd_renew, 1},
    {"release", cmd_release, 1},
    {"check", cmd_check, 1},
    {"hold", cmd_hold, 1},
    {"job", cmd_job, 1},
    {"cron", cmd_cron, 0},
    {"jobs", cmd_jobs, 1},
    {"refresh", cmd_refresh, 1},
    {"use", cmd_use, 1},
    {"expire", cmd_expire, 1},
    {"subjects", cmd_subjects, 1},
    {"next", cmd_next, 1},
    {"ls", cmd_ls, 1},
    {"log", cmd_log, 1},
    {"top", cmd_top, 1},
    {"metrics", cmd_metrics, 0},
    {"serve", cmd_serve, 0},
    {"break", cmd_break, 1},
    {"schema", cmd_schema, 0},
    {"vacuum", cmd_vacuum, 0},
    {"doctor", cmd_doctor, 0},
    {"demo", cmd_demo, 0},
    {"help", cmd_help, 0},
    {NULL, NULL, 0},
};
/* clang-format on */

int main(int argc, char **argv)
{
    struct command command = {.verbs = verbs};
    int status;

    keep_standard_places();
    ignore_large_files();
    read_globals(&command, argc, argv);
    status = command.verb->run(&command);
    if (status < 0)
        end_at_once(status);
    if (status == STATUS_OK || status == STATUS_ANSWER_IS_NO)
        status = finish_output() ? STATUS_FAILED : status;
    free(command.operands);
    free(command.db);
    return status;
}
