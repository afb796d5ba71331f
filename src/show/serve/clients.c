/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/bodies.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define MOST 25 /* connections of one remote address: a quarter of all */
#define NETWORK 8

struct client {
    struct client *next;
    int fd;
    int64_t deadline_ms;
    int is_limited;
    unsigned char network[NETWORK]; /* an IPv4 address is in the last four bytes, after zeros */
};

void clients_open(struct clients *clients)
{
    pthread_mutex_init(&clients->mutex, NULL);
    clients->first = NULL;
}

void clients_close(struct clients *clients)
{
    pthread_mutex_destroy(&clients->mutex);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static int network_of_v4(const unsigned char *address, unsigned char *network)
{
    memset(network, 0, NETWORK);
    memcpy(network + NETWORK - 4, address, 4);
    return address[0] != 127;
}

/* The network of an address. 0: the address has no limit. */
static int network_of(const struct sockaddr *address, unsigned char *network)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;

    memset(network, 0, NETWORK);
    if (address && address->sa_family == AF_INET)
        return network_of_v4((const void *)&v4->sin_addr, network);
    if (!address || address->sa_family != AF_INET6 || IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr))
        return 0;
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        return network_of_v4(v6->sin6_addr.s6_addr + 12, network);
    memcpy(network, v6->sin6_addr.s6_addr, NETWORK);
    return 1;
}

int clients_admit(struct clients *clients, const struct sockaddr *address)
{
    unsigned char network[NETWORK];
    int n = 0;

    if (!network_of(address, network))
        return 1;
    pthread_mutex_lock(&clients->mutex);
    for (const struct client *client = clients->first; client; client = client->next)
        n += client->is_limited && memcmp(client->network, network, NETWORK) == 0;
    pthread_mutex_unlock(&clients->mutex);
    return n < MOST;
}

/* ---- connections ----------------------------------------------------------------------------- */

struct client *client_open(struct clients *clients, int fd, const struct sockaddr *address,
                           int64_t most_ms)
{
    struct client *client = calloc(1, sizeof *client);

    if (!client) {
        shutdown(fd, SHUT_RDWR);
        return NULL;
    }
    client->fd = fd;
    client->deadline_ms = rowlock__now_ms() + most_ms;
    client->is_limited = network_of(address, client->network);
    pthread_mutex_lock(&clients->mutex);
    client->next = clients->first;
    clients->first = client;
    pthread_mutex_unlock(&clients->mutex);
    return client;
}

void client_limit(struct clients *clients, struct client *client, int64_t most_ms)
{
    if (!client)
        return;
    pthread_mutex_lock(&clients->mutex);
    client->deadline_ms = rowlock__now_ms() + most_ms;
    pthread_mutex_unlock(&clients->mutex);
}

void client_close(struct clients *clients, struct client *client)
{
    struct client **at = &clients->first;

    if (!client)
        return;
    pthread_mutex_lock(&clients->mutex);
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    pthread_mutex_unlock(&clients->mutex);
    free(client);
}

void clients_expire(struct clients *clients)
{
    int64_t now_ms = rowlock__now_ms();

    pthread_mutex_lock(&clients->mutex);
    for (const struct client *client = clients->first; client; client = client->next)
        if (client->deadline_ms <= now_ms)
            shutdown(client->fd, SHUT_RDWR);
    pthread_mutex_unlock(&clients->mutex);
}
