/* SPDX-License-Identifier: Apache-2.0 */
/* Acquires a lease for the verbs acquire and hold, and prints its token. */
#include "run/lease/take.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/lock_options.h"
#include "command/output/json.h"
#include "command/output/words.h"

int take_lease(struct taking *taking)
{
    char *argv[] = {(char *)taking->holder, NULL};
    struct run run = {.lock = taking->lock,
                      .argv = argv,
                      .verbose = taking->verbose,
                      .no_process = !taking->is_kept};
    struct approach approach = {.deadline_ms = taking->lock.deadline_ms,
                                .is_patient = taking->lock.wait_ms < 0,
                                .interrupt_fd = taking->interrupt_fd,
                                .signals = &taking->signals,
                                .verbose = taking->verbose,
                                .is_absolute = 1, /* a keeper changes its working directory */
                                .may_create = 1};
    int status = connect_as(taking->command, &approach, &taking->holding.connection), acquired = 0;

    if (!status)
        status = acquire(&run, &taking->signals, &taking->holding, &acquired);
    if (acquired && signals_turn_to_command(&taking->signals)) {
        message("cannot create a file descriptor for signals");
        rowlock_release(taking->holding.lease, NULL);
        return STATUS_FAILED;
    }
    return status;
}

int print_token(struct taking *taking)
{
    const struct lock_options *lock = &taking->lock;
    struct rowlock_lease *lease = taking->holding.lease;

    if (taking->command->json)
        print_lease_json(
            lock->wants, lock->n, lease,
            lease_expires(taking->holding.connection, lock->wants[0].name, rowlock_token(lease)));
    else
        printf("%" PRId64 "\n", rowlock_token(lease));
    if (finish_output() == STATUS_OK)
        return STATUS_OK;
    rowlock_release(lease, NULL);
    message("the token could not be printed: the lease is released");
    return STATUS_FAILED;
}

int take_and_print(struct taking *taking)
{
    int status;

    if (signals_open(&taking->signals)) {
        message("cannot create a file descriptor for signals");
        return STATUS_FAILED;
    }
    taking->interrupt_fd = taking->signals.wait_fd;
    status = take_lease(taking);
    return taking->holding.lease && !status ? print_token(taking) : status;
}

int end_taking(struct taking *taking, int status)
{
    rowlock_lease_free(taking->holding.lease);
    rowlock_close(taking->holding.connection);
    free(taking->lock.wants);
    return status;
}

/* Reads NAME --token T, and finds that lease. */

#define OF_STAND_IN required_argument /* rowlock passes these to itself: help does not name them */

void take_token(const struct command *command, const struct option_row *row, void *into)
{
    char *end;
    long long token;

    (void)row;
    errno = 0;
    token = strtoll(optarg, &end, 10);
    if (errno || end == optarg || *end || token <= 0)
        usage_error(command, "--token: '%s' is not a token: acquire and hold print it, ls shows it",
                    shown(optarg));
    *(int64_t *)into = token;
}

#define AT(member) offsetof(struct lease_argument, member)

static const struct option_row token_option[] = {
    {"token", 0, required_argument, take_token, AT(token), 0, 0}, {0}};

static const struct option_row options_of_renewal[] = {
    {"ttl", 0, required_argument, take_lasting, AT(ttl_ms), 1000, 0},
    {"url-fd", 0, OF_STAND_IN, set_number, AT(url_fd), 3, 1024},
    {"guard-fd", 0, OF_STAND_IN, set_number, AT(guard_fd), 3, 1024},
    {0}};

void read_lease_argument(struct command *command, int with_ttl, struct lease_argument *argument)
{
    *argument = (struct lease_argument){0};
    scan_options(command, (struct option_table[]){{token_option, argument},
                                                  {with_ttl ? options_of_renewal : NULL, argument},
                                                  {0}});
    argument->name = one_name(command);
    if (!argument->token)
        usage_error(command,
                    "--token T is missing: acquire or hold printed it; 'rowlock ls %s%s' "
                    "shows it",
                    before_name(argument->name), shown(argument->name));
}

/* ---- the lease ------------------------------------------------------------------------------- */

int adopt_lease(const struct command *command, struct lease_argument *argument)
{
    int status = connect_by_lookup(command, &argument->connection);

    if (status)
        return status;
    return exit_status(rowlock_adopt(argument->connection, argument->name, argument->token,
                                     &argument->lease, &argument->error));
}

struct wanted {
    int64_t token, expires_ms;
};

static int find_expiry(const struct rowlock_holder *holder, void *data)
{
    struct wanted *wanted = data;

    if (holder->token == wanted->token)
        wanted->expires_ms = is_endless(holder) ? INT64_MAX : holder->expires_ms;
    return wanted->expires_ms != 0;
}

int64_t lease_expires(struct rowlock_connection *connection, const char *name, int64_t token)
{
    struct wanted wanted = {.token = token};

    rowlock_list(connection, name, find_expiry, &wanted, NULL);
    return wanted.expires_ms;
}

/* A lease that is still listed was broken. For one that is gone the database does not record the
   reason. */
int report_lease(const struct lease_argument *argument)
{
    const char *text = argument->error.text, *name = argument->name;

    if (argument->error.code != ROWLOCK_ELOST)
        return report(&argument->error);
    if (lease_expires(argument->connection, name, argument->token))
        message("%s; the work under it may overlap with another holder's, stop it; 'rowlock ls "
                "%s%s' shows who holds the name now",
                text, before_name(name), name);
    else
        message(
            "%s: it was released, or has expired or was broken; if it was not released, the "
            "work under it may overlap with another holder's, stop it; 'rowlock ls %s%s' shows who "
            "holds the name now",
            text, before_name(name), name);
    return STATUS_LOST;
}

int lease_is_endless(const struct rowlock_lease *lease)
{
    return rowlock_remaining(lease) > ROWLOCK_UNTIL_RELEASED / 2;
}

void print_lease_json(const struct rowlock_want *wants, size_t n, const struct rowlock_lease *lease,
                      int64_t expires_ms)
{
    fputs(n > 1 ? "{\"name\":[" : "{\"name\":", stdout);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            putchar(',');
        json_text(stdout, wants[i].name);
    }
    fputs(n > 1 ? "],\"token\":" : ",\"token\":", stdout);
    json_number(stdout, rowlock_token(lease));
    fputs(",\"owner\":", stdout);
    json_text(stdout, rowlock_owner(lease));
    fputs(",\"expires\":", stdout);
    json_instant(stdout, expires_ms);
    fputs("}\n", stdout);
}
