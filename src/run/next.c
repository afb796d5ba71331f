/* SPDX-License-Identifier: Apache-2.0 */
/* The verb next: draws numbers from a counter. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/lock_options.h"
#include "command/output/json.h"

#define COUNT_MOST 1000000
#define NUMBER_MOST 1000000000000000000L

struct drawing {
    const char *counter;
    char name[300]; /* of its lock */
    int64_t start, count, first;
    struct lock_options lock;
};

#define AT(member) offsetof(struct drawing, member)

static const struct option_row options[] = {
    {"count", 0, required_argument, set_long_number, AT(count), 1, COUNT_MOST},
    {"start", 0, required_argument, set_long_number, AT(start), -NUMBER_MOST, NUMBER_MOST},
    {0}};

static void say_lost(const struct drawing *drawing, const char *why)
{
    int64_t last = drawing->first + drawing->count - 1;

    if (drawing->count == 1)
        message("%" PRId64 " of '%s' %s", drawing->first, drawing->counter, why);
    else
        message("%" PRId64 " to %" PRId64 " of '%s' %s", drawing->first, last, drawing->counter,
                why);
}

/* One transaction: locks the counter's name first, then draws. */
static int draw(struct rowlock_connection *connection, struct drawing *drawing,
                struct rowlock_error *error)
{
    const struct lock_options *lock = &drawing->lock;
    int code = rowlock_begin(connection, lock->wants, 1, lock_wait_left(lock), error);

    if (code)
        return code;
    code = rowlock_next(connection, drawing->counter, drawing->start, drawing->count,
                        lock_wait_left(lock), &drawing->first, error);
    if (code) {
        rowlock_rollback(connection, NULL);
        return code;
    }
    code = rowlock_commit(connection, error);
    if (code == ROWLOCK_EUNKNOWN)
        say_lost(drawing, "may be drawn, or not");
    return code;
}

static int print(const struct command *command, const struct drawing *drawing)
{
    if (command->json) {
        fputs("{\"name\":", stdout);
        json_text(stdout, drawing->counter);
        printf(",\"first\":%" PRId64 ",\"last\":%" PRId64 "}\n", drawing->first,
               drawing->first + drawing->count - 1);
    }
    for (int64_t i = 0; i < drawing->count && !command->json && !ferror(stdout); i++)
        printf("%" PRId64 "\n", drawing->first + i);
    if (finish_output() == STATUS_OK)
        return STATUS_OK;
    say_lost(drawing, drawing->count == 1 ? "is drawn, and was not printed: it is lost"
                                          : "are drawn, and were not all printed");
    return STATUS_FAILED;
}

int cmd_next(struct command *command)
{
    struct drawing drawing = {.start = 1, .count = 1, .lock = lock_options_default()};
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;
    int status;

    scan_options(command, (struct option_table[]){
                              {options, &drawing}, {lock_wait_options, &drawing.lock}, {0}});
    drawing.counter = one_name(command);
    finish_lock_options(command, &drawing.lock);
    if (snprintf(drawing.name, sizeof drawing.name, "counter:%s", drawing.counter) > 255)
        usage_error(command, "the counter's name has more than 247 bytes");
    drawing.lock.wants->name = drawing.name;
    command->is_farm_wide = 1;
    status = check_output();
    if (!status)
        status = connect_as(command,
                            &(struct approach){.deadline_ms = drawing.lock.deadline_ms,
                                               .is_patient = drawing.lock.wait_ms < 0,
                                               .may_create = 1},
                            &connection);
    if (!status && draw(connection, &drawing, &error))
        status = report(&error);
    else if (!status)
        status = print(command, &drawing);
    rowlock_close(connection);
    free(drawing.lock.wants);
    return status == STATUS_NOT_ACQUIRED ? drawing.lock.conflict : status;
}
