/* SPDX-License-Identifier: Apache-2.0 */
/* The answers that are being sent. Requests that get the same answer share one copy, which is freed
   when the last client has read it. Only the thread that answers may use them. */
#ifndef ROWLOCK_SERVE_BODIES_H
#define ROWLOCK_SERVE_BODIES_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

#include "show/serve/answer.h"

/* The functions of libmicrohttpd (0.9.71 or later) that serve uses. They are loaded by its first
   call, as the drivers load client libraries: no other verb needs the library, or its GnuTLS. */

#define SERVE_FUNCTIONS(XX)                                \
    XX(MHD_start_daemon)                                   \
    XX(MHD_quiesce_daemon)                                 \
    XX(MHD_stop_daemon)                                    \
    XX(MHD_get_connection_info)                            \
    XX(MHD_suspend_connection)                             \
    XX(MHD_resume_connection)                              \
    XX(MHD_lookup_connection_value)                        \
    XX(MHD_get_connection_values)                          \
    XX(MHD_create_response_from_buffer)                    \
    XX(MHD_create_response_from_buffer_with_free_callback) \
    XX(MHD_add_response_header)                            \
    XX(MHD_queue_response)                                 \
    XX(MHD_destroy_response)

struct serve_library {
#define SERVE_XX(function) __typeof__(function) *function;
    SERVE_FUNCTIONS(SERVE_XX)
#undef SERVE_XX
};

/* Loads it. NULL after a message if it is not installed, or too old. */
const struct serve_library *serve_library(void);

struct body;

/* The answers that clients still read; libmicrohttpd removes each after its last reader. */
struct bodies { /* begins as zeros */
    struct body *first;
};

/* Determines an answer: the same question, from the same views, of the same age in seconds. */
struct body_key {
    struct question question;
    int64_t all_ms, detail_ms; /* when the views were asked for; 0: there is none */
    int64_t age_s;
    int code; /* of the last failure: the pages show it */
};

/* The answer, if it is being sent, and its status; NULL: it is not. The caller queues it, and does
   not destroy it. */
struct MHD_Response *bodies_find(const struct bodies *bodies, const struct body_key *key,
                                 unsigned *status);
/* A copy of the answer, without headers, which the caller destroys after it was queued; NULL: no
   memory, or clients that read slowly keep too many. */
struct MHD_Response *bodies_add(struct bodies *bodies, const struct serve_library *library,
                                const struct body_key *key, const struct answer *answer);

/* The connections of serve: a deadline for each, and a limit for each remote address, so that no
   client keeps the others out, however slowly it sends or reads. */

struct client;

struct clients { /* shared by threads: each function below locks it */
    pthread_mutex_t mutex;
    struct client *first;
};

/* Before the first connection: there are no clients yet. */
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
