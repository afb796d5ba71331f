/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowlock_renew_all: one statement renews many leases, where the engine has it. It reports only the
 * leases that it renewed. Every other lease is renewed alone, which finds out why it is not.
 */
#include <stdlib.h>

#include "dialect/plain.h"
#include "lease/lease.h"
#include "lease/query.h"
#include "session/connection.h"
#include "util/clock.h"
#include "util/error.h"

#define MOST 1000 /* leases of one statement */
#define PENDING 1 /* as a code: not yet renewed; an error code is negative */

struct renewal_of_all {
    struct rowlock_lease *const *leases;
    int *codes; /* of the leases */
    size_t n;
    struct rowlock_connection *connection;
    int64_t asked_ms; /* the ttl for all; 0: of each lease */
    int64_t deadline_ms;
};

/* ---- many leases by one statement ------------------------------------------------------------ */

struct parcel {
    struct renewal_of_all *all;
    size_t place[MOST]; /* of its leases */
    size_t n, next;     /* next: where the next token of the answer is probably found */
    int64_t ttl_ms, sent_ms;
    int64_t end_ms; /* the earliest */
    char *text;     /* dialect.h, renew_all */
    size_t length;
};

/* The leases from `from` on that are alive and have the ttl of the first. Returns the first place
   that was not looked at. */
static size_t choose(struct parcel *parcel, struct renewal_of_all *all, size_t from)
{
    size_t i = from;
    int64_t ttl_ms;

    *parcel = (struct parcel){.all = all, .end_ms = INT64_MAX};
    for (; i < all->n && parcel->n < MOST; i++) {
        if (atomic_load(&all->leases[i]->released) || rowlock_remaining(all->leases[i]) <= 0)
            continue;
        ttl_ms = all->asked_ms ? all->asked_ms : atomic_load(&all->leases[i]->ttl_ms);
        if (parcel->n == 0)
            parcel->ttl_ms = ttl_ms;
        else if (parcel->ttl_ms != ttl_ms)
            break;
        parcel->end_ms = rowlock__least(parcel->end_ms, atomic_load(&all->leases[i]->end_ms));
        parcel->place[parcel->n++] = i;
    }
    return i;
}

static int pack(struct parcel *parcel)
{
    size_t room = 1;

    for (size_t i = 0; i < parcel->n; i++)
        room += rowlock__room_of_lease(parcel->all->leases[parcel->place[i]]->name[0]);
    parcel->text = malloc(room);
    if (!parcel->text)
        return ROWLOCK_ENOMEM;
    for (size_t i = 0; i < parcel->n; i++) {
        const struct rowlock_lease *lease = parcel->all->leases[parcel->place[i]];

        parcel->length += rowlock__put_lease(parcel->text + parcel->length, lease->token,
                                             lease->name[0], lease->owner);
    }
    parcel->length--; /* the last comma */
    return ROWLOCK_OK;
}

/* A lease counts as renewed after the COMMIT: until then its token is only noted. */
static void note_token(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct parcel *parcel = data;
    int64_t token = n > 0 ? rowlock__value_number(&columns[0]) : 0;

    for (size_t tried = 0; tried < parcel->n; tried++) {
        size_t i = parcel->next;

        parcel->next = (i + 1) % parcel->n;
        if (parcel->all->leases[parcel->place[i]]->token == token) {
            parcel->all->codes[parcel->place[i]] = ROWLOCK_OK;
            return;
        }
    }
}

static int send_once(struct parcel *parcel, struct rowlock_error *error)
{
    struct renewal_of_all *all = parcel->all;
    struct rowlock_value values[] = {rowlock__bytes_value(parcel->text, parcel->length),
                                     rowlock__int_value(parcel->ttl_ms)};
    int64_t now_ms = rowlock__now_ms();
    struct rowlock_query query = {
        .id = ROWLOCK_SQL_RENEW_ALL,
        .values = values,
        .row = note_token,
        .data = parcel,
        /* half of the time stays for those that must be renewed alone */
        .deadline_ms = now_ms + (rowlock__least(all->deadline_ms, parcel->end_ms) - now_ms) / 2,
        .end_ms = parcel->end_ms};
    int code = rowlock__query_once(all->connection, &query, error);

    parcel->sent_ms = now_ms;
    for (size_t i = 0; code && i < parcel->n; i++)
        all->codes[parcel->place[i]] = PENDING;
    return code;
}

static int send_parcel(struct parcel *parcel)
{
    struct renewal_of_all *all = parcel->all;
    struct rowlock_error why;
    int code = rowlock__ready(all->connection, ROWLOCK_STATE_IDLE, &why);

    if (!code)
        code = send_once(parcel, &why);
    if (rowlock__must_reconnect(all->connection, code, &why) &&
        !rowlock__reconnect(all->connection, rowlock__least(all->deadline_ms, parcel->end_ms),
                            NULL))
        code = send_once(parcel, NULL);
    for (size_t i = 0; !code && i < parcel->n; i++)
        if (all->codes[parcel->place[i]] == ROWLOCK_OK)
            rowlock__lease_renewed(all->leases[parcel->place[i]], parcel->sent_ms, parcel->ttl_ms);
    return code;
}

/* After a failure the leases are renewed alone. */
static void renew_by_parcels(struct renewal_of_all *all)
{
    struct parcel parcel;
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && i < all->n;) {
        i = choose(&parcel, all, i);
        if (parcel.n < 2)
            continue;
        code = pack(&parcel);
        if (!code)
            code = send_parcel(&parcel);
        free(parcel.text);
    }
}

/* ---- the others ------------------------------------------------------------------------------ */

/* One that must wait for another transaction leaves half of the time for those after it. The code
   of the first failure. */
static int renew_pending(struct renewal_of_all *all, struct rowlock_error *error)
{
    int first = ROWLOCK_OK;

    for (size_t i = 0; i < all->n; i++) {
        int64_t now_ms = rowlock__now_ms(), left_ms = all->deadline_ms - now_ms;
        int64_t until_ms = i + 1 < all->n ? now_ms + left_ms / 2 : all->deadline_ms;
        struct rowlock_error *why = first ? NULL : error;

        if (all->codes[i] == PENDING && left_ms <= 0)
            all->codes[i] =
                rowlock__fail(why, ROWLOCK_ETIMEDOUT, "renewing '%.100s': no time was left",
                              all->leases[i]->name[0]);
        else if (all->codes[i] == PENDING)
            all->codes[i] = rowlock__renew_until(all->leases[i], all->asked_ms, until_ms, why);
        if (!first)
            first = all->codes[i];
    }
    return first;
}

int rowlock_renew_all(struct rowlock_lease *const *leases, size_t n, rowlock_duration ttl_ms,
                      int *codes, struct rowlock_error *error)
{
    struct renewal_of_all all = {.leases = leases, .n = n, .asked_ms = ttl_ms};
    int code;

    rowlock__clear_error(error);
    for (size_t i = 0; i < n; i++) {
        if (!leases[i])
            return rowlock__no_lease(error);
        if (leases[i]->connection != leases[0]->connection)
            return rowlock__fail(error, ROWLOCK_EINVAL, "the leases have different connections");
    }
    code = ttl_ms ? rowlock__ttl_check(ttl_ms, error) : ROWLOCK_OK;
    if (code || n == 0)
        return code;
    all.codes = codes ? codes : malloc(n * sizeof *all.codes);
    if (!all.codes)
        return rowlock__no_memory(error);
    all.connection = leases[0]->connection;
    all.deadline_ms = rowlock__query_deadline(all.connection);
    for (size_t i = 0; i < n; i++)
        all.codes[i] = PENDING;
    if (rowlock__sql(all.connection, ROWLOCK_SQL_RENEW_ALL) &&
        !rowlock__has_plain_schema(all.connection->dialect))
        renew_by_parcels(&all);
    code = renew_pending(&all, error);
    if (!codes)
        free(all.codes);
    return code;
}
