/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_adopt: a lease that another process acquired, by its name and token. */
#include <string.h>

#include "lease/lease.h"
#include "lease/query.h"
#include "util/error.h"
#include "util/renewal.h"

struct checked {
    int64_t status, left_ms;
    char owner[ROWLOCK_OWNER_SIZE]; /* "": none, or longer than the library's owner ids */
};

/* status, left_ms, mode, owner */
static void check_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct checked *checked = data;

    if (n < 4)
        return;
    checked->status = rowlock__value_number(&columns[0]);
    checked->left_ms = rowlock__value_number(&columns[1]);
    if (columns[3].length < sizeof checked->owner)
        rowlock__column_text(&columns[3], checked->owner, sizeof checked->owner);
}

int rowlock_adopt(struct rowlock_connection *connection, const char *name, int64_t token,
                  struct rowlock_lease **out, struct rowlock_error *error)
{
    struct rowlock_want want = {.name = name};
    struct rowlock_value values[] = {rowlock__text_value(name), rowlock__int_value(token)};
    struct rowlock_lease *lease = NULL;
    struct checked checked = {.status = -1};
    struct rowlock_query query = {
        .id = ROWLOCK_SQL_CHECK, .values = values, .row = check_row, .data = &checked};
    int64_t sent_ms;
    int code = rowlock__query_check(connection, name, 1, token, error);

    if (!code)
        code = rowlock__lease_new(connection, &want, 1, &lease, error);
    if (code)
        return code;
    sent_ms = rowlock__now_ms();
    query.deadline_ms = rowlock__query_deadline(connection);
    code = rowlock__query_result(rowlock__query(connection, &query, error), error);
    if (!code && checked.status < 0)
        code = rowlock__fail(error, ROWLOCK_EDB, "the database returned no row");
    else if (!code && checked.status != ROWLOCK_STATUS_OK)
        code = rowlock__fail(error, ROWLOCK_ELOST, "token %lld %s '%.100s'", (long long)token,
                             checked.status == ROWLOCK_STATUS_STOPPED
                                 ? "is that of a broken lease of"
                                 : "is not (or no longer) that of a lease of",
                             name);
    if (code) {
        rowlock__lease_delete(lease);
        return code;
    }
    lease->token = token;
    lease->adopted = true;
    memcpy(lease->owner, checked.owner, sizeof lease->owner);
    /* The database does not record the ttl of the grant. */
    atomic_store(&lease->ttl_ms,
                 checked.left_ms > ROWLOCK_TTL_MS ? checked.left_ms : ROWLOCK_TTL_MS);
    rowlock__lease_renewed(lease, sent_ms, checked.left_ms);
    *out = lease;
    return ROWLOCK_OK;
}
