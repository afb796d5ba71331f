/* SPDX-License-Identifier: Apache-2.0 */
/* The verb cron: the daemon that reads the same file of jobs on every node; each run is on one
   node. */
#include <stddef.h>
#include <stdlib.h>

#include "run/cron/daemon.h"
#include "run/supervise/child.h"

#define GRACE_MS 10000

static int run_daemon(const struct command *command, struct cron *cron)
{
    int status;

    if (cron->prefix)
        message_with_time();
    status = url_lookup(command->db, &cron->url);
    cron->callers = fill_standard_descriptors() ? NULL : descriptors_of_caller();
    notify_open(&cron->notify);
    if (!status)
        status = refuse_default(command, &cron->url);
    if (!status)
        status = prepare_database(&cron->url);
    if (!status)
        status = cron->callers ? cron_live(cron) : STATUS_FAILED;
    url_free(&cron->url);
    free((void *)cron->callers);
    return status;
}

static const struct option_row check_option[] = {{"check", 0, no_argument, set_flag, 0, 0, 0}, {0}};

static const struct option_row options[] = {
    {"grace", 0, required_argument, set_duration, offsetof(struct cron, grace_ms), 1000, 0},
    {"prefix", 0, no_argument, set_flag, offsetof(struct cron, prefix), 0, 0},
    {0}};

int cmd_cron(struct command *command)
{
    struct cron cron = {.grace_ms = GRACE_MS};
    int only_check = 0, status;

    scan_options(command,
                 (struct option_table[]){{check_option, &only_check}, {options, &cron}, {0}});
    read_operands(command, 1);
    if (command->n_operands == 0)
        usage_error(command, "the FILE of jobs is missing");
    if (only_check && cron.prefix)
        usage_error(command, "--prefix is for the daemon, which --check does not start");
    cron.path = command->operands[0];
    if (!only_check)
        return run_daemon(command, &cron);
    status = cron_file_read(cron.path, &cron.crontab);
    if (!status)
        status = cron_file_print(&cron.crontab, command->json);
    crontab_free(&cron.crontab);
    return status;
}
