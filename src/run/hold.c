/* SPDX-License-Identifier: Apache-2.0 */
/* The verb hold: keeps a name for a time, or until it is released, without a process that works
   under the lease. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "command/job_name.h"
#include "run/lease/take.h"
#include "util/calendar.h"

#define AT(member) offsetof(struct taking, member)

static const struct option_row options[] = {
    {"for", 0, required_argument, take_lasting, AT(lock.ttl_ms), 1000, 0},
    {"verbose", 0, no_argument, set_flag, AT(verbose), 0, 0},
    {0}};

static void read_options(struct command *command, struct taking *taking)
{
    struct lock_options *lock = &taking->lock;

    *lock = lock_options_default();
    scan_options(command, (struct option_table[]){{options, taking}, LOCK_WAIT_TABLES(lock), {0}});
    if (command->n_operands + command->n_rest == 0)
        name_missing(command);
    if (lock->ttl_ms == 0)
        lock->ttl_ms = ROWLOCK_UNTIL_RELEASED;
    if (!lock->note || !*lock->note)
        usage_error(command, "--note TEXT is missing: shown to callers that are refused, such as "
                             "--note 'new disks, ask Ann'");
    one_name(command);
    finish_lock_options(command, lock);
}

/* The database's clock, shown as local time. */
static void say_until(const struct taking *taking)
{
    const char *name = taking->lock.wants[0].name;
    int64_t token = rowlock_token(taking->holding.lease);
    int64_t expires_ms = lease_expires(taking->holding.connection, name, token);
    char until[ROWLOCK_INSTANT_SIZE];

    rowlock__local_time(expires_ms, until, sizeof until);
    if (expires_ms == INT64_MAX)
        message("'%s' is held until it is released: rowlock release %s'%s' --token %" PRId64, name,
                before_name(name), name, token);
    else if (*until)
        message("'%s' is held until %s; to end it before: rowlock release %s'%s' --token %" PRId64,
                name, until, before_name(name), name, token);
}

static int note_job(const struct rowlock_job_view *job, void *data)
{
    (void)job;
    *(int *)data = 1;
    return 1;
}

/* Reports a hold that pauses no job: of its name without job:, or of job: and an unknown name. */
static void say_job(const struct taking *taking)
{
    const char *name = taking->lock.wants[0].name;
    size_t prefix = sizeof JOB_LOCK_PREFIX - 1;
    const char *job = strncmp(name, JOB_LOCK_PREFIX, prefix) == 0 ? name + prefix : name;
    int exists = 0;
    int status = rowlock_jobs(taking->holding.connection, job, note_job, &exists, NULL);

    if (job == name && exists)
        message("the job '%s' is not paused by that: rowlock hold --note TEXT 'job:%s'", name,
                name);
    else if (job != name && !exists && status == ROWLOCK_OK)
        message("no job '%s' is known yet; `rowlock jobs` lists those that are", job);
}

int cmd_hold(struct command *command)
{
    struct taking taking = {.command = command, .holder = "hold"};
    int status;

    read_options(command, &taking);
    status = check_output();
    if (!status)
        status = take_and_print(&taking);
    if (taking.holding.lease && !status && !command->json) {
        say_until(&taking);
        say_job(&taking);
    }
    return end_taking(&taking, status);
}
