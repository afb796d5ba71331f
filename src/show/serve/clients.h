/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of serve: a deadline for each, and a limit for each remote address, so that no
   client keeps the others out, however slowly it sends or reads. */
#ifndef ROWLOCK_SERVE_CLIENTS_H
#define ROWLOCK_SERVE_CLIENTS_H

#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

struct client;

struct clients { /* shared by threads */
    pthread_mutex_t mutex;
    struct client *first;
};

void clients_open(struct clients *clients);
/* The caller has closed all clients before. */
void clients_close(struct clients *clients);

/* Whether the address may have one more connection. A loopback address, where a proxy may be, and a
   Unix socket have no limit. The network of an IPv6 address (/64) counts as one address. */
int clients_admit(struct clients *clients, const struct sockaddr *address);

/* Registers a connection that begins, which has `most_ms` for its first request. Without memory it
   shuts the socket down and returns NULL. */
struct client *client_open(struct clients *clients, int fd, const struct sockaddr *address,
                           int64_t most_ms);
/* Sets the client's deadline to `most_ms` from now. Accepts NULL. */
void client_limit(struct clients *clients, struct client *client, int64_t most_ms);
/* Call it before the descriptor is closed. Accepts NULL. */
void client_close(struct clients *clients, struct client *client);

/* Shuts down the sockets of those whose time has passed: their reads and writes then fail. */
void clients_expire(struct clients *clients);

#endif
