/* SPDX-License-Identifier: Apache-2.0 */
/* The verb doctor: examines a database and this node, one line a check. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/list.h"
#include "show/doctor/doctor.h"

enum need { OF_NODE, OF_DATABASE, OF_SCHEMA };

/* In the order of the output. A check without a function is one of rowlock_examine. */
static const struct check {
    const char *name, *about;
    enum need need;
    void (*examine)(struct doctor *doctor);
} checks[] = {
    {"url", "the source of the URL, and its readers", OF_NODE, examine_url},
    {"driver", "versions of the client library and of rowlock", OF_DATABASE, NULL},
    {"server", "whether the server answers, its version and role", OF_DATABASE, NULL},
    {"pooler", "a connection pooler, and its mode", OF_DATABASE, NULL},
    {"isolation", "the default isolation level", OF_DATABASE, NULL},
    {"read-only", "transactions that are read-only by default", OF_DATABASE, NULL},
    {"durability", "settings by which a crash loses commits", OF_DATABASE, NULL},
    {"autovacuum", "PostgreSQL: autovacuum, for the server and for each table", OF_DATABASE, NULL},
    {"dead-rows", "PostgreSQL: dead rows in rowlock's tables", OF_DATABASE, NULL},
    {"tables", "PostgreSQL: row level security, rules and triggers of its tables", OF_DATABASE,
     NULL},
    {"owner", "PostgreSQL: a superuser over a schema of another role", OF_DATABASE, NULL},
    {"undo", "MariaDB: old row versions that a transaction keeps", OF_DATABASE, NULL},
    {"schema", "completeness and version of the schema", OF_DATABASE, NULL},
    {"privileges", "the GRANTs that this account lacks", OF_DATABASE, NULL},
    {"leases", "expired leases that were not swept", OF_SCHEMA, NULL},
    {"transactions", "transactions older than 5 minutes that hold a name", OF_SCHEMA,
     examine_transactions},
    {"jobs", "jobs that are slow, late, failing or lost", OF_SCHEMA, examine_jobs},
    {"clock", "whether the database's clock is steady over 2 s; this node's clock", OF_SCHEMA,
     examine_clock},
    {"self-test", "acquires, waits in a second session, hands over, fences an old token", OF_SCHEMA,
     examine_locks},
    {"guard", "whether the guard ends a command and its daemon", OF_NODE, examine_guard},
    {"proc", "whether the guard sees all processes in /proc", OF_NODE, examine_proc},
    {"init", "whether process 1 removes dead processes", OF_NODE, examine_init},
    {"systemd", "KillMode of the service that runs rowlock", OF_NODE, examine_systemd},
};

#define CHECKS (sizeof checks / sizeof *checks)

/* ---- output ---------------------------------------------------------------------------------- */

static void found_fields(struct fields *to, const void *row)
{
    static const char *const states[] = {"ok", "warn", "fail"};
    const struct found *found = row;

    field_text(to, NULL, "check", found->check);
    field_text(to, NULL, "status", states[found->status]);
    field_text(to, NULL, "finding", found->finding);
    field_text(to, NULL, "advice", found->advice);
}

static void check_fields(struct fields *to, const void *row)
{
    const struct check *check = row;

    field_text(to, NULL, "check", check->name);
    field_text(to, NULL, "about", check->about);
}

/* Returns the exit status. */
static int print(const struct doctor *doctor)
{
    static const struct list list = {.fields = found_fields};
    static const char *const states[] = {"ok", "warn", "FAIL"};
    enum rowlock_finding_status worst = ROWLOCK_SOUND;
    size_t n = 0;

    for (size_t i = 0; i < CHECKS; i++) {
        const struct found *found = found_by(doctor, checks[i].name);

        if (!found)
            continue;
        if (doctor->command->json) {
            fputs(n == 0 ? "[" : ",\n ", stdout);
            list_object(stdout, &list, found);
        } else {
            char *finding = cell_text(found->finding),
                 *advice = cell_text(found->advice ? found->advice : "");

            printf("%-4s  %-12s  %s%s%s\n", states[found->status], checks[i].name,
                   finding ? finding : "", advice && *advice ? "  -> " : "", advice ? advice : "");
            free(finding);
            free(advice);
        }
        n++;
        if (found->status > worst)
            worst = found->status;
    }
    if (doctor->command->json)
        fputs(n ? "]\n" : "[]\n", stdout);
    return doctor->status ? doctor->status : (int)worst;
}

static int list_checks(int json)
{
    static const struct list list = {.fields = check_fields};

    for (size_t i = 0; i < CHECKS; i++)
        if (json) {
            fputs(i == 0 ? "[" : ",\n ", stdout);
            list_object(stdout, &list, &checks[i]);
        } else {
            printf("%-12s  %s\n", checks[i].name, checks[i].about);
        }
    fputs(json ? "]\n" : "", stdout);
    return STATUS_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The guard is checked before the session is opened, because no process with a session should be
   copied by fork. */
static void examine(struct doctor *doctor)
{
    int asks = 0;

    for (size_t i = 0; i < CHECKS; i++) {
        asks += is_wanted(doctor, checks[i].name) && checks[i].need != OF_NODE;
        if (checks[i].need == OF_NODE && checks[i].examine != examine_url &&
            is_wanted(doctor, checks[i].name))
            checks[i].examine(doctor);
    }
    if (asks || !doctor->only || strcmp(doctor->only, "url") == 0)
        examine_url(doctor);
    if (asks && !doctor->status)
        examine_database(doctor);
    for (size_t i = 0; i < CHECKS; i++)
        if (doctor->connection && doctor->usable && checks[i].need == OF_SCHEMA &&
            checks[i].examine && is_wanted(doctor, checks[i].name))
            checks[i].examine(doctor);
}

int cmd_doctor(struct command *command)
{
    struct doctor doctor = {.command = command};
    const struct option_row list[] = {{"list", 0, no_argument, set_flag, 0, 0, 0}, {0}};
    const struct option_row only[] = {{"only", 0, required_argument, set_text, 0, 0, 0}, {0}};
    int lists = 0, status;
    size_t i = 0;

    scan_options(command, (struct option_table[]){{list, &lists}, {only, &doctor.only}, {0}});
    read_operands(command, 0);
    while (doctor.only && i < CHECKS && strcmp(checks[i].name, doctor.only) != 0)
        i++;
    if (i == CHECKS)
        usage_error(command, "--only: there is no check '%s'; see rowlock doctor --list",
                    shown(doctor.only));
    if (lists)
        return list_checks(command->json);
    examine(&doctor);
    status = print(&doctor);
    rowlock_close(doctor.connection);
    url_free(&doctor.url);
    free_findings(&doctor);
    return status;
}
