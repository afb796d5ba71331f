/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dialect of a server, and how a transaction begins. MariaDB's and MySQL's procedures begin it.
 * TiDB has none: its dialect is a plain one, for src/emulate.
 */
#include <string.h>

#include "dialect/plain.h"
#include "driver/mariadb_link.h"
#include "util/bytes.h"
#include "util/error.h"

const struct rowlock_dialect *rowlock__mariadb_dialect_of(const char *version, bool is_mariadb)
{
    if (version && rowlock__find_caseless(version, ROWLOCK_TIDB))
        return rowlock__plain_named("tidb");
    return is_mariadb ? &rowlock__dialect_mariadb : &rowlock__dialect_mysql;
}

/* An optimistic transaction of the caller's would lock nothing before its COMMIT, and one above
   READ COMMITTED would not see what the previous holder has committed. The fence reads by FOR
   UPDATE, which shows what is committed now at every level. */
static int tidb_check(struct rowlock_link *link, const struct rowlock_call *call,
                      struct rowlock_error *error)
{
    static const char wanted[] = "pessimistic READ-COMMITTED";
    bool any_level = strcmp(call->statement->name, "lease_fence") == 0;
    char found[80];

    if (rowlock__mariadb_query(link,
                               "SELECT IF(@rowlock_began = @@tidb_current_ts, "
                               "'pessimistic READ-COMMITTED', "
                               "CONCAT(@@tidb_txn_mode, ' ', @@transaction_isolation))",
                               found, sizeof found))
        return rowlock__mariadb_query_failure(link, error);
    if (strncmp(found, wanted, strlen(any_level ? "pessimistic" : wanted)) == 0)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_ESNAPSHOT,
                         "this session's transactions are %s; roll back, SET SESSION tidb_txn_mode "
                         "= 'pessimistic', SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, "
                         "and begin again",
                         found);
}

int rowlock__mariadb_begin(struct rowlock_link *link, unsigned transaction_flags,
                           const struct rowlock_call *calls, size_t n, struct rowlock_error *error)
{
    static const char *const questions[] = {"meta", "ping", "server"}; /* which lock nothing */
    const struct rowlock_statement *statement = &link->dialect->statements[ROWLOCK_SQL_BEGIN];
    struct rowlock_call call = {.statement = statement};
    int code = ROWLOCK_OK;

    if ((transaction_flags & ROWLOCK_BEGIN) && statement->text) {
        /* TiDB begins at READ COMMITTED, whatever the session's level. On a borrowed handle a
           variable records the transaction, because the caller may end it and begin another. */
        if (link->dialect->plain)
            code = rowlock__mariadb_execute(link, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
                                            error);
        if (!code)
            code = rowlock__mariadb_call(link, &call, error);
        if (!code && link->dialect->plain && !link->own)
            code = rowlock__mariadb_execute(link, "SET @rowlock_began = @@tidb_current_ts", error);
        link->began = link->dialect->plain ? !code : link->began;
        return code;
    }
    if (!link->dialect->plain || !rowlock__mariadb_in_transaction(link) || n == 0)
        return ROWLOCK_OK;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strcmp(calls->statement->name, questions[i]) == 0)
            return ROWLOCK_OK;
    return link->own && link->began ? ROWLOCK_OK : tidb_check(link, calls, error);
}
