/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for the MariaDB server with a deadline, and derives the session's state from an error.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "driver/failure.h"
#include "driver/mariadb_link.h"

void rowlock__mariadb_arm(struct rowlock_link *link, const struct rowlock_budget *budget)
{
    my_bool has = 0;
    int flags;

    link->wait = (struct rowlock__mariadb_wait){
        .budget = *budget,
        .stage = STAGE_CALM,
        .why = ROWLOCK_WAKE_READY,
        .connecting = link->mysql == NULL,
        .pumped = link->own,
        .flags = -1,
    };
    /* A borrowed handle gets libmariadb's non-blocking context once, unless its owner gave it one:
       a call that ignores the interrupt still obeys the deadline. */
    if (!link->own && link->url)
        link->wait.pumped =
            (rowlock__mariadb.get_optionv(link->mysql, MYSQL_OPT_NONBLOCK, &has) == 0 && has) ||
            rowlock__mariadb.optionsv(link->mysql, MYSQL_OPT_NONBLOCK, (void *)NULL) == 0;
    if (!link->tls || !link->wait.pumped)
        return;
    /* libmariadb reads the socket of a TLS session through OpenSSL, whose reads return early only
       if the socket itself is non-blocking; libmariadb's own blocking calls undo that. */
    flags = fcntl(rowlock__mariadb.get_socket(link->mysql), F_GETFL);
    if (flags >= 0 && !(flags & O_NONBLOCK) &&
        fcntl(rowlock__mariadb.get_socket(link->mysql), F_SETFL, flags | O_NONBLOCK) >= 0 &&
        !link->own)
        link->wait.flags = flags;
}

void rowlock__mariadb_disarm(struct rowlock_link *link)
{
    if (link->wait.flags >= 0 && !link->dead)
        fcntl(rowlock__mariadb.get_socket(link->mysql), F_SETFL, link->wait.flags);
    link->wait.flags = -1;
}

void rowlock__mariadb_give_up(struct rowlock_link *link)
{
    my_socket fd = rowlock__mariadb.get_socket(link->mysql);

    link->wait.stage = STAGE_GIVEN_UP;
    link->dead = true;
    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

/* Acts on the end of the budget: sends KILL QUERY, or gives the session up if the time for an
   answer has passed. KILL QUERY is repeated, because one that arrives between two statements is
   lost. */
static void budget_ends(struct rowlock_link *link, enum rowlock_wake why)
{
    struct rowlock__mariadb_wait *wait = &link->wait;
    int64_t now = rowlock__now_ms();

    if (wait->stage != STAGE_CANCELED) {
        wait->why = why;
        wait->give_up_ms = rowlock__give_up_ms(&wait->budget, now);
    }
    if (wait->connecting || now >= wait->give_up_ms) {
        rowlock__mariadb_give_up(link);
        return;
    }
    wait->stage = STAGE_CANCELED;
    wait->grace_ms = rowlock__least(now + ROWLOCK_AGAIN_MS, wait->give_up_ms);
    if (link->cancel)
        link->cancel(link, wait->give_up_ms);
}

int rowlock__mariadb_pump(struct rowlock_link *link, int status)
{
    struct rowlock__mariadb_wait *wait = &link->wait;
    int64_t own_limit = ROWLOCK_NEVER; /* the handle's own MYSQL_OPT_READ_TIMEOUT and the like */
    short events = 0;

    if (status & MYSQL_WAIT_READ)
        events |= POLLIN;
    if (status & MYSQL_WAIT_WRITE)
        events |= POLLOUT;
    if (status & MYSQL_WAIT_EXCEPT)
        events |= POLLPRI;
    if (status & MYSQL_WAIT_TIMEOUT)
        own_limit = rowlock__now_ms() + rowlock__mariadb.get_timeout_value_ms(link->mysql);
    while (wait->stage != STAGE_GIVEN_UP) {
        bool early = wait->stage != STAGE_CANCELED;
        int64_t deadline = early ? wait->budget.deadline_ms : wait->grace_ms;
        enum rowlock_wake wake = rowlock__wait_fd(rowlock__mariadb.get_socket(link->mysql), events,
                                                  early ? wait->budget.interrupt_fd : -1,
                                                  own_limit < deadline ? own_limit : deadline);

        if (wake == ROWLOCK_WAKE_READY)
            return status & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE | MYSQL_WAIT_EXCEPT);
        if (wake == ROWLOCK_WAKE_DEADLINE && own_limit < deadline)
            break;
        budget_ends(link, wake);
    }
    return MYSQL_WAIT_TIMEOUT;
}

unsigned rowlock__mariadb_query(struct rowlock_link *link, const char *text, char *out, size_t size)
{
    MYSQL *mysql = link->mysql;
    int failed = 0;

    if (out)
        out[0] = '\0';
    ROWLOCK_MARIADB_CALL(link, failed, real_query, mysql, text, strlen(text));
    while (failed == 0) {
        MYSQL_RES *result = NULL;

        ROWLOCK_MARIADB_CALL(link, result, store_result, mysql);
        if (result && out && result->data && result->data->data && result->data->data->data[0]) {
            strncpy(out, result->data->data->data[0], size - 1);
            out[size - 1] = '\0';
            out = NULL;
        }
        if (result)
            rowlock__mariadb.free_result(result);
        if (rowlock__mariadb.number(mysql) || !rowlock__mariadb.more_results(mysql))
            break;
        ROWLOCK_MARIADB_CALL(link, failed, next_result, mysql);
    }
    return rowlock__mariadb.number(mysql);
}

bool rowlock__mariadb_in_transaction(const struct rowlock_link *link)
{
    unsigned flags = 0;

    rowlock__mariadb.get_infov(link->mysql, MARIADB_CONNECTION_SERVER_STATUS, &flags);
    return (flags & SERVER_STATUS_IN_TRANS) != 0;
}

int rowlock__mariadb_failure(struct rowlock_link *link, unsigned number, const char *sqlstate,
                             const char *text, struct rowlock_error *error)
{
    /* after these errors the session has ended, whichever side reports them */
    static const unsigned fatal[] = {1053, 1158, 1159, 1160, 1161, 1927, 2002, 2003,
                                     2006, 2012, 2013, 2026, 2027, 2055, 4031};
    const struct rowlock__mariadb_wait *wait = &link->wait;
    char answer[sizeof error->text];
    int code;

    strncpy(answer, text, sizeof answer - 1); /* `text` may be in memory that is freed below */
    answer[sizeof answer - 1] = '\0';
    code = rowlock__failure(error, "mariadb", sqlstate, (int)number, answer);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        link->dead = link->dead || fatal[i] == number;
    if (link->dead)
        rowlock__mariadb_forget_tls_errors();
    if (wait->stage != STAGE_CANCELED && wait->stage != STAGE_GIVEN_UP)
        return code;
    if (!link->dead && number != 1317 && number != 1969 && number != 3024)
        return code; /* it failed by itself before it could be cancelled */
    return rowlock__cut_off(error, wait->why, wait->connecting, wait->stage == STAGE_GIVEN_UP);
}

int rowlock__mariadb_execute(struct rowlock_link *link, const char *text,
                             struct rowlock_error *error)
{
    if (rowlock__mariadb_query(link, text, NULL, 0) == 0)
        return ROWLOCK_OK;
    return rowlock__mariadb_query_failure(link, error);
}

int rowlock__mariadb_query_failure(struct rowlock_link *link, struct rowlock_error *error)
{
    return rowlock__mariadb_failure(link, rowlock__mariadb.number(link->mysql),
                                    rowlock__mariadb.sqlstate(link->mysql),
                                    rowlock__mariadb.text(link->mysql), error);
}
