/* SPDX-License-Identifier: Apache-2.0 */
/* The verb break: revokes leases of a name. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "command/lock_options.h"
#include "command/output/json.h"
#include "command/output/words.h"
#include "command/signals.h"
#include "run/lease/take.h"
#include "util/calendar.h"

struct breaking {
    const char *name;
    int64_t token; /* 0: all */
    int now;
    int stopping; /* how many were broken already */
    int holds;    /* how many are of hold, where no process works under the lease */
};

static const struct option_row options[] = {
    {"token", 0, required_argument, take_token, offsetof(struct breaking, token), 0, 0},
    {"now", 0, no_argument, set_flag, offsetof(struct breaking, now), 0, 0},
    {0}};

static int count_transaction(const struct rowlock_holder *holder, void *data)
{
    if (holder->holding == ROWLOCK_HOLDS_TX)
        ++*(int *)data;
    return 0;
}

static void say_nothing_held(struct rowlock_connection *connection, const struct breaking *breaking)
{
    int transactions = 0;

    rowlock_list(connection, breaking->name, count_transaction, &transactions, NULL);
    if (breaking->token)
        message("there is no lease %" PRId64 " of '%s': 'rowlock ls %s%s' shows what there is",
                breaking->token, breaking->name, before_name(breaking->name), breaking->name);
    else if (transactions)
        message(
            "'%s' is held by a transaction, which is not a lease: end its session in the database "
            "('rowlock ls %s%s' shows it)",
            breaking->name, before_name(breaking->name), breaking->name);
    else
        message("no lease of '%s' is held: nothing to break", breaking->name);
}

static int look_before(const struct rowlock_holder *holder, void *data)
{
    struct breaking *breaking = data;

    if (holder->holding != ROWLOCK_HOLDS || (breaking->token && breaking->token != holder->token))
        return 0;
    breaking->stopping += holder->stop != 0;
    breaking->holds += is_hold(holder);
    return 0;
}

/* Broken leases that still exist. */
struct left {
    const struct breaking *breaking;
    int kept;         /* a process renews it, and learns of the break */
    int unattended;   /* of hold, or of acquire: no process renews it */
    int64_t until_ms; /* when the last of the unattended ones expires */
};

static int see_left(const struct rowlock_holder *holder, void *data)
{
    struct left *left = data;
    int64_t token = left->breaking->token;

    if (holder->holding != ROWLOCK_HOLDS || !holder->stop || (token && token != holder->token))
        return 0;
    if (holder->pid) {
        left->kept++;
        return 0;
    }
    left->unattended++;
    if (holder->expires_ms > left->until_ms)
        left->until_ms = is_endless(holder) ? INT64_MAX : holder->expires_ms;
    return 0;
}

static void say_unattended(const struct left *left, const char *name)
{
    char until[ROWLOCK_INSTANT_SIZE], token[40] = "";

    rowlock__local_time(left->until_ms, until, sizeof until);
    if (left->breaking->token)
        snprintf(token, sizeof token, " --token %" PRId64, left->breaking->token);
    if (left->kept)
        printf("; no process renews %d of them", left->unattended);
    else
        printf("no process renews %s", left->unattended == 1 ? "it" : "them");
    printf(": the name is taken until %s%srelease; to free it now: rowlock break --now%s %s'%s'",
           left->until_ms == INT64_MAX ? ""
           : *until                    ? until
                                       : "the lease expires",
           left->until_ms == INT64_MAX ? "" : ", or until ", token, before_name(name), name);
}

static void say_stopping(const struct left *left, int64_t broken, const char *name)
{
    int before = left->breaking->stopping;

    if (before >= broken)
        fputs("broken already: ", stdout);
    else if (before > 0)
        printf("broken (%d of them before): ", before);
    else
        fputs("broken: ", stdout);
    if (left->kept || !left->unattended)
        fputs("the holder learns of it when it renews next, after a third of its ttl at most (10 s "
              "of the default 30 s), and stops; the name is free then, or when the lease expires",
              stdout);
    if (left->unattended)
        say_unattended(left, name);
    putchar('\n');
}

static void say_broken(struct rowlock_connection *connection, const struct breaking *breaking,
                       int64_t broken)
{
    struct left left = {.breaking = breaking};
    char name[1600];

    escape_controls(breaking->name, name, sizeof name);
    printf("%" PRId64 " lease%s of '%s' ", broken, broken == 1 ? "" : "s", name);
    if (breaking->now)
        puts(broken > breaking->holds
                 ? "ended at once: a holder that has not noticed yet may overlap with the next one"
                 : "ended at once");
    else if (rowlock_list(connection, breaking->name, see_left, &left, NULL) == 0 && !left.kept &&
             !left.unattended)
        puts("broken: it is free");
    else
        say_stopping(&left, broken, name);
}

static int report_broken(const struct command *command, struct rowlock_connection *connection,
                         const struct breaking *breaking, int64_t broken)
{
    if (command->json) {
        fputs("{\"name\":", stdout);
        json_text(stdout, breaking->name);
        printf(",\"broken\":%" PRId64 "}\n", broken);
    } else if (broken > 0) {
        say_broken(connection, breaking, broken);
    }
    if (broken == 0)
        say_nothing_held(connection, breaking);
    return broken > 0 ? STATUS_OK : STATUS_ANSWER_IS_NO;
}

int cmd_break(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    struct breaking breaking = {0};
    struct signals signals;
    int64_t broken = 0;
    int status, code, number;

    scan_own_options(command, options, &breaking);
    breaking.name = one_name(command);
    if (signals_open(&signals)) {
        message("cannot create a file descriptor for signals");
        return STATUS_FAILED;
    }
    status = connect_as(command,
                        &(struct approach){.interrupt_fd = signals.wait_fd, .signals = &signals},
                        &connection);
    if (!status) {
        rowlock_list(connection, breaking.name, look_before, &breaking, NULL);
        code =
            rowlock_break(connection, breaking.name, breaking.token, breaking.now, &broken, &error);
        status = code ? report(&error) : report_broken(command, connection, &breaking, broken);
        if (code == ROWLOCK_ECANCELED && (number = signals_next(signals.wait_fd, NULL)))
            status =
                -number; /* the server withdrew the request: no process would read its result */
    }
    rowlock_close(connection);
    return status;
}
