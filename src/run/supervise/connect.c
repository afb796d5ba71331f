/* SPDX-License-Identifier: Apache-2.0 */
/* Connects to the database for a command under a lock. */

#include "command/url_lookup.h"
#include "run/supervise/holding.h"
#include "run/supervise/times.h"

/* While a command of ours held the whole file's write lock, no other program could write to it. */
static int refuse_sqlite(const struct run *run, const struct url *url)
{
    if (!run->transaction || !url_is_file(url))
        return STATUS_OK;
    message("run --tx is not for SQLite: the file has one write lock, and holding it while a "
            "command runs stops every other writer; leave out --tx, or use PostgreSQL or MariaDB "
            "(--db, ROWLOCK_URL)");
    return STATUS_USAGE;
}

int connect_to_run(const struct command *command, const struct run *run,
                   const struct signals *signals, struct rowlock_connection **out)
{
    struct approach approach = {.deadline_ms = run->lock.deadline_ms,
                                .is_patient = run->lock.wait_ms < 0,
                                .interrupt_fd = signals->wait_fd,
                                .statement_ms = statement_limit(run)};
    int number;
    struct url url;
    int status = url_lookup(command->db, &url), code = ROWLOCK_OK;

    if (!status && command->is_farm_wide)
        status = refuse_default(command, &url);
    if (!status)
        status = refuse_sqlite(run, &url);
    if (!status && run->verbose)
        report_overridden(&url);
    if (!status)
        status = connect_database(&url, &approach, out, &code);
    url_free(&url);
    if (status && (number = signals_next(signals->wait_fd, NULL)))
        return -number; /* also if the attempt has failed */
    return status;
}
