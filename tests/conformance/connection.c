/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening, closing, asking for the state, and losing a connection: a refusal and a loss have
 * different codes, and no call hangs.
 * Quick: sqlite postgresql mariadb postgresql/odbc h2/jdbc
 */
#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/test.h"

static int try_open(const char *url, const struct rowlock_options *options)
{
    struct rowlock_connection *connection = NULL;
    int code = rowlock_open(url, options, &connection, &t_error);

    if (code == ROWLOCK_OK)
        t_adopt(connection);
    else
        t_true(connection == NULL);
    return code;
}

TEST(a_connection_opens_answers_and_closes)
{
    struct rowlock_connection *connection = t_open();

    t_ok(rowlock_ping(connection, &t_error));
    t_int(rowlock_socket(connection) >= 0, t_facts()->server);
    t_true(t_handle(connection) != NULL);
    rowlock_close(NULL);
}

TEST(a_lost_connection_is_econn_from_then_on)
{
    struct rowlock_connection *connection;
    struct pollfd pollfd;
    void *killer;

    if (!t_facts()->server)
        return;
    connection = t_open();
    killer = t_native();
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_engine()->kill(killer, t_engine()->session(t_handle(connection)));
    pollfd = (struct pollfd){.fd = rowlock_socket(connection), .events = POLLIN};
    t_int(poll(&pollfd, 1, 10000), 1);
    t_fails(rowlock_ping(connection, &t_error), ECONN);
    t_fails(rowlock_ping(connection, &t_error), ECONN);
    t_fails(t_begin(connection, t_x(t_name(1)), 0), ECONN);
    t_left(DEAD);
    t_fails(rowlock_commit(connection, &t_error), ECONN);
    t_fails(rowlock_rollback(connection, &t_error), ECONN);
}

/* The code for an unreachable database: ECONN, because a server may return; on SQLite ESERVER,
   because the folder does not exist and no wait creates it. */
static int absence(void)
{
    return t_facts()->server ? ROWLOCK_ECONN : ROWLOCK_ESERVER;
}

TEST(where_nothing_is_the_answer_is_econn_if_it_may_come_back)
{
    t_int(try_open(t_engine()->unreachable, NULL), absence());
    t_lacks(t_error.text, t_facts()->server ? "hunter2" : "password");
}

TEST(a_refused_login_is_reported_without_the_password)
{

    if (!t_engine()->stranger)
        return;
    t_fails(try_open(t_say(t_engine()->stranger, t_port()), NULL), EDENIED);
    t_lacks(t_error.text, "hunter2");
}

TEST(a_database_that_does_not_exist_is_refused)
{

    if (!t_facts()->server)
        return;
    if (t_facts()->creates_database)
        t_not_here(WHY_CREATES);
    t_fails(try_open(t_url_of("nowhere"), NULL), EDENIED);
}

TEST(a_server_that_does_not_answer_is_given_up_in_time)
{
    struct rowlock_options options = {.connect_ms = 300};
    long long began = t_now();
    int fd;

    if (!t_engine()->silent)
        return;
    t_fails(try_open(t_say(t_engine()->silent, t_silent_port(&fd)), &options), ECONN);
    t_lacks(t_error.text, "hunter2");
    t_true(t_now() - began >= 300);
    t_within(began, 5300);
    close(fd);
}

TEST(an_interrupt_ends_connecting)
{
    struct rowlock_options options = {.connect_ms = -1, .interrupt_fd = t_interrupt_fd()};
    int fd;

    if (!t_engine()->silent)
        return;
    t_interrupt();
    t_fails(try_open(t_say(t_engine()->silent, t_silent_port(&fd)), &options), ECANCELED);
    close(fd);
}

TEST(a_url_that_cannot_be_right_is_refused)
{
    const char *transport = strcmp(t_facts()->technique, "row") ? t_facts()->technique : "mariadb";

    t_fails(try_open("nonsense", NULL), EINVAL);
    t_fails(try_open("", NULL), EINVAL);
    t_fails(try_open(NULL, NULL), EINVAL);
    t_fails(try_open("oracle://x", NULL), EDRIVER);
    t_contains(t_error.text, t_facts()->plain ? transport : t_facts()->engine);
    t_fails(try_open("postgres", NULL), EINVAL);
}

TEST(a_child_may_not_use_its_parents_connection)
{
    struct rowlock_connection *connection = t_open();
    int status;
    pid_t child;

    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    child = fork();
    if (child == 0) {
        int bad = rowlock_ping(connection, NULL) != ROWLOCK_EINVAL ||
                  rowlock_commit(connection, NULL) != ROWLOCK_EINVAL ||
                  rowlock_rollback(connection, NULL) != ROWLOCK_EINVAL;

        rowlock_close(connection);
        _exit(bad);
    }
    t_int(waitpid(child, &status, 0), child);
    t_int(status, 0);
    t_ok(rowlock_ping(connection, &t_error));
    t_int(t_is_free(t_x(t_name(1))), 0);
    t_ok(rowlock_commit(connection, &t_error));
}

TEST(an_error_may_be_left_out_everywhere)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *none = NULL;
    struct rowlock_want want = t_x(t_name(1)), bad = t_x("");
    int64_t removed;

    t_int(rowlock_open("nonsense", NULL, &none, NULL), ROWLOCK_EINVAL);
    t_int(rowlock_open(t_engine()->unreachable, NULL, &none, NULL), absence());
    t_int(rowlock_begin(one, &bad, 1, 0, NULL), ROWLOCK_EINVAL);
    t_int(rowlock_lock(one, &want, 1, 0, NULL), ROWLOCK_ENOTX);
    t_int(rowlock_commit(one, NULL), ROWLOCK_ENOTX);
    t_int(rowlock_prepare(one, &want, 1, NULL), ROWLOCK_OK);
    t_int(rowlock_begin(one, &want, 1, 0, NULL), ROWLOCK_OK);
    t_int(rowlock_begin(two, &want, 1, 0, NULL), ROWLOCK_EBUSY);
    t_int(rowlock_begin(two, &want, 1, 20, NULL), ROWLOCK_ETIMEDOUT);
    t_int(rowlock_prepare(one, &want, 1, NULL), ROWLOCK_EINTX);
    t_int(rowlock_install(one, NULL, NULL), ROWLOCK_EINTX);
    t_int(rowlock_vacuum(one, &removed, NULL), ROWLOCK_EINTX);
    t_int(rowlock_rollback(one, NULL), ROWLOCK_OK);
    t_int(rowlock_ping(one, NULL), ROWLOCK_OK);
    t_int(rowlock_vacuum(one, NULL, NULL), ROWLOCK_OK);
}
