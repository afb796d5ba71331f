/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Databases behind JDBC alone: a session that is lost.
 *
 * Runs on: derby/jdbc hsqldb/jdbc
 * Quick: never
 * Rest: derby/jdbc
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/proxy.h"

/* From now on the proxy refuses connections, and keeps those that it has: only this client, which
   sends a byte, is cut off. */
static void refuse_connections(struct proxy *proxy)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)proxy_port(proxy)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int client = socket(AF_INET, SOCK_STREAM, 0);
    char byte;

    t_int(connect(client, (struct sockaddr *)&at, sizeof at), 0);
    proxy_arm(proxy, PROXY_DOWN, PROXY_TO_SERVER, 0);
    t_int(send(client, "!", 1, MSG_NOSIGNAL), 1);
    t_true(recv(client, &byte, 1, 0) <= 0);
    t_true(proxy_has_struck(proxy));
    close(client);
}

/* To end the wait the session is cut off, and no other one can be opened. */
TEST(a_session_without_a_successor_is_lost)
{
    struct rowlock_options options = {.statement_ms = 60000};
    struct rowlock_connection *holder = t_open(), *connection;
    struct rowlock_want want = t_x("lost");
    struct proxy *proxy = proxy_start(t_port(), 0);

    connection = t_open_at(t_url_at(proxy_port(proxy)), &options);
    t_ok(rowlock_prepare(holder, &want, 1, &t_error));
    t_ok(t_begin(holder, want, 0));
    refuse_connections(proxy);
    t_fails(t_begin(connection, want, 0), ECONN);
    t_left(DEAD);
    t_fails(t_begin(connection, t_x("free"), 0), ECONN);
    t_left(DEAD);
    t_fails(rowlock_install(connection, NULL, &t_error), ECONN);
    t_fails(rowlock_vacuum(connection, NULL, &t_error), ECONN);
    t_fails(rowlock_rollback(connection, &t_error), ECONN);
    t_ok(rowlock_rollback(holder, &t_error));
    proxy_stop(proxy);
}
