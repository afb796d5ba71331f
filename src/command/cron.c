/* SPDX-License-Identifier: Apache-2.0 */
/* The verb cron: the daemon that reads the same file of jobs on every node; each run is on one
   node. */
#include <stdlib.h>

#include "command/cron/cron.h"

#define GRACE_MS 10000

enum { OPTION_CHECK = OPTION_OWN, OPTION_GRACE, OPTION_PREFIX };

static const struct option options[] = {
    {"check", no_argument, NULL, OPTION_CHECK},
    {"grace", required_argument, NULL, OPTION_GRACE},
    {"prefix", no_argument, NULL, OPTION_PREFIX},
    {NULL, 0, NULL, 0},
};

static int check(const struct command *command, const char *path)
{
    struct crontab crontab;
    int status = cron_file_read(path, &crontab);

    if (status)
        return status;
    cron_file_print(&crontab, command->json);
    crontab_free(&crontab);
    return STATUS_OK;
}

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
    if (!status && cron->url.is_local)
        status = url_make_folder(&cron->url);
    if (!status && !cron->callers)
        status = STATUS_FAILED;
    if (!status) {
        note_database(&cron->url);
        keep_url_secret(&cron->url);
        status = cron_live(cron);
    }
    url_free(&cron->url);
    free((void *)cron->callers);
    return status;
}

int cmd_cron(struct command *command)
{
    struct cron cron = {.grace_ms = GRACE_MS};
    int option, only_check = 0;

    while ((option = next_option(command, NULL, options)) != -1) {
        if (option == OPTION_CHECK)
            only_check = 1;
        else if (option == OPTION_PREFIX)
            cron.prefix = 1;
        else
            cron.grace_ms = option_duration(command, "--grace", 1000);
    }
    read_operands(command, 1);
    if (command->n_operands == 0)
        usage_error(command, "the FILE of jobs is missing");
    if (only_check && cron.prefix)
        usage_error(command, "--prefix is for the daemon, which --check does not start");
    cron.path = command->operands[0];
    return only_check ? check(command, cron.path) : run_daemon(command, &cron);
}
