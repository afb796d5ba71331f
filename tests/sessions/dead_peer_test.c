/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of rowlock's own has TCP limits by which both sides notice that the other machine is
 * gone, as the kernel and the server report them. command/vanished.bats waits for it.
 *
 * Runs on: postgresql/native mariadb/row odbc jdbc
 * Quick: first
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/test.h"

static int option_of(struct rowlock_connection *connection, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;

    t_int(getsockopt(rowlock_socket(connection), level, name, &value, &size), 0);
    return value;
}

static int tcp(struct rowlock_connection *connection, int name)
{
    return option_of(connection, IPPROTO_TCP, name);
}

static bool is_by_libpq(void)
{
    return strncmp(t_url(), "postgresql:", strlen("postgresql:")) == 0;
}

TEST(the_client_notices_a_server_that_is_gone)
{
    struct rowlock_connection *connection = t_open();

    t_int(option_of(connection, SOL_SOCKET, SO_KEEPALIVE), 1);
    t_int(tcp(connection, TCP_KEEPIDLE), 20);
    t_int(tcp(connection, TCP_KEEPINTVL), 5);
    t_int(tcp(connection, TCP_KEEPCNT), 4);
    t_int(tcp(connection, TCP_USER_TIMEOUT), 40000);
    t_close(connection);
}

static const char *url_with(const char *option)
{
    return t_say("%s%c%s", t_url(), strchr(t_url(), '?') ? '&' : '?', option);
}

TEST(a_server_of_postgresql_notices_a_client_that_is_gone)
{
    struct rowlock_connection *connection;

    if (!is_by_libpq())
        return;
    connection = t_open();
    t_text(t_sql(connection, "SHOW tcp_keepalives_idle"), "20");
    t_text(t_sql(connection, "SHOW tcp_keepalives_interval"), "5");
    t_text(t_sql(connection, "SHOW tcp_keepalives_count"), "4");
    t_text(t_sql(connection, "SHOW tcp_user_timeout"), "40000");
    t_close(connection);
}

TEST(limits_in_the_url_count)
{
    struct rowlock_connection *connection;

    if (!is_by_libpq())
        return;
    connection = t_open_at(url_with("keepalives_idle=77&tcp_user_timeout=7000"), NULL);
    t_int(tcp(connection, TCP_KEEPIDLE), 77);
    t_int(tcp(connection, TCP_USER_TIMEOUT), 7000);
    t_close(connection);
    connection = t_open_at(url_with("keepalives=0"), NULL);
    t_int(option_of(connection, SOL_SOCKET, SO_KEEPALIVE), 0);
    t_close(connection);
    connection = t_open_at(url_with("options=-ctcp_keepalives_idle%3D99"), NULL);
    t_text(t_sql(connection, "SHOW tcp_keepalives_idle"), "99");
    t_close(connection);
}
