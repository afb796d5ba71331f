/* SPDX-License-Identifier: Apache-2.0 */
/* log: leases that have ended, waiters that gave up, and runs of jobs; as a table, JSON, or a
   timeline. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/history_rules.h"
#include "command/output/output.h"
#include "show/lists/lists.h"
#include "show/log/log.h"

#define MOST 1000000
#define DRAWN 1000 /* entries of a timeline, without --limit */

struct asking {
    struct rowlock_past_filter filter;
    const char *since, *svg;
    struct listing listing;
    struct timeline timeline;
};

/* ---- options --------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct asking, member)

static const struct option_row options[] = {
    {"since", 0, required_argument, set_text, AT(since), 0, 0},
    {"problems", 0, no_argument, set_flag, AT(filter.problems), 0, 0},
    {"waited", 0, required_argument, set_duration, AT(filter.waited_ms), 1000, 0},
    {"limit", 0, required_argument, set_number, AT(filter.limit), 1, MOST},
    {"svg", 0, required_argument, set_text, AT(svg), 0, 0},
    {0}};

/* By the database's clock. */
static int find_times(const struct command *command, struct rowlock_connection *connection,
                      struct asking *asking)
{
    struct rowlock_error error;
    int64_t now_ms;
    int wrong;

    if (!asking->since && !asking->svg)
        return STATUS_OK;
    if (rowlock_clock(connection, &now_ms, &error))
        return report(&error);
    asking->timeline.now_ms = now_ms;
    if (!asking->since)
        return STATUS_OK;
    wrong = read_since(asking->since, now_ms, &asking->filter.since_ms);
    if (wrong > 0)
        usage_error(command, "--since '%s' is in the future", shown(asking->since));
    if (wrong)
        usage_error(command,
                    "--since needs a duration (2h, 7d) or a time (02:00, 2026-11-21, "
                    "'2026-11-21 02:00'), not '%s'",
                    shown(asking->since));
    return STATUS_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

static int visit(const struct rowlock_past *past, void *data)
{
    struct asking *asking = data;

    if (asking->svg)
        return asking->listing.failed = timeline_add(&asking->timeline, past);
    return listing_add(&asking->listing, past);
}

static int draw(FILE *out, void *data)
{
    const struct asking *asking = data;

    timeline_draw(out, &asking->timeline);
    return STATUS_OK;
}

static int list(struct rowlock_connection *connection, struct asking *asking)
{
    struct listing *listing = &asking->listing;
    struct rowlock_error error;
    int status = listing_open(listing);

    if (status)
        return status;
    if (rowlock_history(connection, &asking->filter, visit, asking, &error))
        return report(&error);
    if (asking->svg && listing->failed)
        return out_of_memory();
    if (asking->svg && strcmp(asking->svg, "-") == 0)
        return draw(stdout, asking);
    if (asking->svg)
        return replace_file(asking->svg, draw, asking);
    status = listing_print(listing);
    /* Silent without a terminal: cron would mail it. */
    if (!status && !listing->json && listing_is_empty(listing) && isatty(STDERR_FILENO))
        rules_explain(connection, asking->filter.name);
    return status;
}

int cmd_log(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct asking asking = {.listing.table.list = &past_list};
    int status;

    scan_own_options(command, options, &asking);
    read_operands(command, 1);
    asking.filter.name = command->n_operands > 0 ? command->operands[0] : NULL;
    asking.filter.jobs = 1;
    asking.listing.json = command->json;
    if (asking.filter.name && !*asking.filter.name)
        usage_error(command, "the name must not be empty");
    if (asking.svg && !*asking.svg)
        usage_error(command, "--svg needs the path of a file, or - for standard output");
    if (asking.svg && command->json)
        usage_error(command, "--svg and --json exclude each other");
    if (asking.svg && !asking.filter.limit)
        asking.filter.limit = DRAWN;
    status = connect_by_lookup(command, &connection);
    if (!status)
        status = find_times(command, connection, &asking);
    if (!status)
        status = list(connection, &asking);
    listing_free(&asking.listing);
    timeline_free(&asking.timeline);
    rowlock_close(connection);
    return status;
}
