/* SPDX-License-Identifier: Apache-2.0 */
/* The verb check: whether a token is still a valid lease. */
#include <inttypes.h>
#include <stdio.h>

#include "command/output/json.h"
#include "guard/guard.h"
#include "run/lease/take.h"
#include "run/supervise/ancestors.h"
#include "util/random.h"

struct keeper_search {
    int64_t token, dead_pid; /* 0: alive, or unknown */
};

/* Whether the process that renews was killed; its pid shows that only where it has its number: not
   on another machine, and not in another container. */
static int find_dead_keeper(const struct rowlock_holder *holder, void *data)
{
    struct keeper_search *search = data;

    if (holder->token != search->token)
        return 0;
    if (holder->pid && rowlock__owner_is_from_here(holder->owner) &&
        tree_is_dead((pid_t)holder->pid))
        search->dead_pid = holder->pid;
    return 1;
}

/* `lease` is NULL if there is none, or if its keeper has ended, which was printed. */
static int print_answer(const struct command *command, const struct lease_argument *argument,
                        const struct rowlock_lease *lease)
{
    int is_endless = lease && lease_is_endless(lease);

    if (command->json) {
        fputs("{\"name\":", stdout);
        json_text(stdout, argument->name);
        printf(",\"token\":%" PRId64 ",\"valid\":%s,\"left_ms\":", argument->token,
               lease ? "true" : "false");
        if (is_endless)
            puts("null}");
        else
            printf("%" PRId64 "}\n", lease ? rowlock_remaining(lease) : 0);
    } else if (is_endless) {
        puts("valid until it is released");
    } else if (lease) {
        printf("valid, %.1f s left\n", (double)rowlock_remaining(lease) / 1000);
    } else if (!argument->lease) {
        report_lease(argument);
    }
    return lease ? STATUS_OK : STATUS_ANSWER_IS_NO;
}

int cmd_check(struct command *command)
{
    struct lease_argument argument;
    const struct rowlock_lease *lease;
    struct keeper_search search = {0};
    int status;

    read_lease_argument(command, 0, &argument);
    search.token = argument.token;
    status = adopt_lease(command, &argument);
    lease = argument.lease;
    /* Below `run` and similar verbs the guard ends the command, and the row may name a daemon that
       has finished its part. */
    if (lease && !is_token_of_ancestor(argument.token))
        rowlock_list(argument.connection, argument.name, find_dead_keeper, &search, NULL);
    if (search.dead_pid) {
        message("the lease of '%s' (token %" PRId64
                ") is not renewed any more: its keeper, process "
                "%" PRId64 ", has ended; it ends in %.1f s",
                argument.name, argument.token, search.dead_pid,
                (double)rowlock_remaining(lease) / 1000);
        lease = NULL;
    }
    if (!argument.lease && argument.connection && argument.error.code != ROWLOCK_ELOST)
        status = report(&argument.error);
    else if (argument.connection)
        status = print_answer(command, &argument, lease);
    rowlock_lease_free(argument.lease);
    rowlock_close(argument.connection);
    return status;
}
