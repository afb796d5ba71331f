/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deliberate mistakes in the decisions of src/emulate/, and in the order of its statements.
 * Mistakes in the text of a statement are in wrong.c.
 */
#include "emulate/judge.h"
#include "emulate/names.h"
#include "simulation/table.h"

/* ---- decisions ------------------------------------------------------------------------------- */

static struct rowlock_asked asked_wrongly(const struct rowlock_asked *asked)
{
    struct rowlock_asked wrong = *asked;

    if (sim.wrong == SIM_GRANTS_ONE_MORE && asked->kind == 'p')
        wrong.count--;
    return wrong;
}

SEAM(struct rowlock_judged, rowlock__judge_leases, const struct rowlock_rows *leases,
     const struct rowlock_asked *asked)
{
    struct rowlock_asked wrong = asked_wrongly(asked);
    struct rowlock_held held[SIM_ROWS];
    struct rowlock_rows seen = {.size = sizeof *held, .row = held};
    struct rowlock_judged judged;

    for (size_t i = 0; i < leases->n && seen.n < SIM_ROWS; i++) {
        held[seen.n] = *(const struct rowlock_held *)rowlock__rows_at(leases, i);
        seen.n +=
            !(sim.wrong == SIM_IGNORES_READERS && held[seen.n].kind == 's') &&
            !(sim.wrong == SIM_IGNORES_WRITERS && held[seen.n].kind == 'x' && asked->kind == 's');
    }
    judged = __real_rowlock__judge_leases(&seen, &wrong);
    if (sim.wrong == SIM_SWEEPS_NOT && judged.status == ROWLOCK_STATUS_EXPIRED)
        judged.status = ROWLOCK_STATUS_OK;
    return judged;
}

SEAM(struct rowlock_judged, rowlock__judge_queue, const struct rowlock_rows *waiters,
     const struct rowlock_asked *asked)
{
    if (sim.wrong == SIM_JUDGES_NO_QUEUE || functions_ignore_queue())
        return (struct rowlock_judged){.status = ROWLOCK_STATUS_OK};
    return __real_rowlock__judge_queue(waiters, asked);
}

SEAM(int, rowlock__emulate_release, struct rowlock_work *work)
{
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    char key[ROWLOCK_KEY_SIZE];
    bool was = false;
    int code;

    if (sim.wrong != SIM_RELEASES_BY_NAME)
        return __real_rowlock__emulate_release(work);
    rowlock__key(work, "", &work->call->values[1], key);
    code = rowlock__read_leases(work, key, NULL, &leases);
    if (!code && leases.n)
        code = rowlock__end_lease_rows(work, ((struct rowlock_lease_row *)leases.row)->held.token,
                                       &was);
    rowlock__rows_clear(&leases);
    return code ? code : rowlock__work_number(work, ROWLOCK_STATUS_OK);
}

/* ---- the order of statements ----------------------------------------------------------------- */

static bool locks_a_name(enum rowlock_plain_id id)
{
    return id == ROWLOCK_PLAIN_NAME_LOCK || id == ROWLOCK_PLAIN_NAME_TRY ||
           id == ROWLOCK_PLAIN_NAME_SHARE || id == ROWLOCK_PLAIN_NAME_TRY_SHARE;
}

static bool grants(const struct table_link *link)
{
    return link->client->step && link->client->step->act == ROWLOCK_ACT_GRANT;
}

/* A grant's lock of a name waits until it draws the token, after it has read the rows. */
static bool lock_late(struct table_link *link, enum rowlock_plain_id id, struct rowlock_call *call,
                      const struct rowlock_budget *budget, struct rowlock_error *error, int *code)
{
    if (grants(link) && locks_a_name(id) && link->n_late < SIM_NAMES) {
        static char key[SIM_MOST][SIM_NAMES][3];
        char *copy = key[link->client->id - 1][link->n_late];

        if (call->values[0].length > 2)
            return false;
        for (size_t i = 0; i < call->values[0].length; i++)
            copy[i] = call->values[0].bytes[i];
        link->late_name[link->n_late] = rowlock__text_value(copy);
        link->late[link->n_late] = *call;
        link->late[link->n_late].values = &link->late_name[link->n_late];
        link->late[link->n_late++].row = NULL;
        call->affected = 1;
        return true;
    }
    if (id != ROWLOCK_PLAIN_DRAW)
        return false;
    for (unsigned i = 0; !*code && i < link->n_late; i++)
        *code = table_ask(link, &link->late[i], budget, error);
    link->n_late = 0;
    return *code != ROWLOCK_OK;
}

/* The next number is read, and written later, without a lock in between. */
static bool draw_unlocked(struct table_link *link, enum rowlock_plain_id id,
                          struct rowlock_call *call)
{
    struct rowlock_value *drawn = table_drawn();
    struct rowlock_value column = rowlock__int_value(link->drawn);

    if (id == ROWLOCK_PLAIN_DRAW) {
        link->drawn = drawn->number + 1;
        call->affected = 1;
        return true;
    }
    if (id == ROWLOCK_PLAIN_DRAWN)
        call->row(call->data, &column, 1);
    else if (link->drawn > drawn->number)
        drawn->number = link->drawn;
    return id == ROWLOCK_PLAIN_DRAWN;
}

/* A fence that reads, and locks nothing. */
static bool fence_nothing(enum rowlock_plain_id id, struct rowlock_call *call)
{
    struct table *table = table_of("rowlock_lease");

    if (id != ROWLOCK_PLAIN_LEASE_FENCE)
        return false;
    for (size_t i = 0; i < table->n; i++)
        if (table->row[i].committed &&
            table_number(table, table->row[i].committed, "token") == call->values[1].number)
            call->affected = 1;
    return true;
}

bool table_mistake(struct table_link *link, enum rowlock_plain_id id, struct rowlock_call *call,
                   const struct rowlock_budget *budget, struct rowlock_error *error, int *code)
{
    switch (sim.wrong) {
    case SIM_READS_FIRST:
        return lock_late(link, id, call, budget, error, code);
    case SIM_LOCKS_NOTHING:
        call->affected = locks_a_name(id) && !grants(link);
        return call->affected;
    case SIM_DRAWS_UNLOCKED:
        return draw_unlocked(link, id, call);
    case SIM_FENCES_NOTHING:
        return fence_nothing(id, call);
    default:
        return false;
    }
}
