/* SPDX-License-Identifier: Apache-2.0 */
/* A proxy that cuts, stalls or counts the messages of a database protocol (proxy.h). */
#include "lib/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

/* The position within a message, in one direction. */
struct stream {
    int to, first; /* PostgreSQL: a client's first message has no type */
    unsigned char head[5];
    unsigned have; /* bytes of the head still to come */
    uint32_t left; /* bytes of the body still to come */
};

struct pair {
    int fd[2]; /* sockets of the client and of the server; -1: free */
    struct stream stream[2];
    int spoke;            /* the direction used last since the fault was armed; -1: none */
    int64_t silent_ms[2]; /* until when nothing is forwarded in that direction */
};

struct proxy {
    int listener, port, server_port, postgresql, wake[2];
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum proxy_fault fault;
    enum proxy_direction direction;
    int messages, inside, hold_ms, quit, cut;
    int struck;
    atomic_long trips;
    struct pair pair[MOST];
};

static struct sockaddr_in address(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static void close_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        if (pair->fd[i] >= 0)
            close(pair->fd[i]);
        pair->fd[i] = -1;
    }
}

static void accept_one(struct proxy *proxy)
{
    struct sockaddr_in at = address(proxy->server_port);
    int client = accept(proxy->listener, NULL, NULL), server = socket(AF_INET, SOCK_STREAM, 0);
    int yes = 1;

    for (int i = 0; i < MOST; i++) {
        struct pair *pair = &proxy->pair[i];

        if (pair->fd[0] >= 0 || client < 0)
            continue;
        if (proxy->fault == PROXY_DOWN && proxy->struck)
            break;
        if (connect(server, (struct sockaddr *)&at, sizeof at))
            break;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        memset(pair, 0, sizeof *pair);
        pair->spoke = -1;
        pair->fd[0] = client;
        pair->fd[1] = server;
        pair->stream[PROXY_TO_SERVER].first = proxy->postgresql > 0;
        return;
    }
    if (client >= 0)
        close(client);
    close(server);
}

static unsigned head_length(const struct proxy *proxy, const struct stream *stream)
{
    if (proxy->postgresql < 0)
        return 1;
    return proxy->postgresql && !stream->first ? 5 : 4;
}

static uint32_t body_length(const struct proxy *proxy, const struct stream *stream, size_t arrived)
{
    const unsigned char *head = stream->head + (proxy->postgresql && !stream->first ? 1 : 0);

    if (proxy->postgresql < 0)
        return (uint32_t)arrived;
    if (!proxy->postgresql)
        return head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16;
    return ((uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3]) -
           4;
}

/* Processes one more byte, after which so many have arrived; returns 1 if a message has ended. */
static int take_byte(const struct proxy *proxy, struct stream *stream, unsigned char byte,
                     size_t arrived)
{
    if (stream->left > 0)
        return --stream->left == 0;
    stream->head[stream->have++] = byte;
    if (stream->have < head_length(proxy, stream))
        return 0;
    stream->left = body_length(proxy, stream, arrived);
    stream->have = 0;
    stream->first = 0;
    return stream->left == 0;
}

/* Whether the fault is due now, on this connection. */
static int is_due(const struct proxy *proxy, const struct pair *pair, int direction)
{
    return proxy->fault != PROXY_NONE && proxy->fault != PROXY_HANG && !proxy->struck &&
           (int)proxy->direction == direction && proxy->messages <= 0 &&
           (!proxy->inside || pair->stream[direction].left > 0);
}

static void strike(struct proxy *proxy, struct pair *pair)
{
    proxy->struck = 1;
    if (proxy->fault == PROXY_STALL)
        pair->silent_ms[0] = pair->silent_ms[1] = INT64_MAX;
    else if (proxy->fault == PROXY_HOLD)
        pair->silent_ms[proxy->direction] =
            proxy->hold_ms < 0 ? INT64_MAX : now_ms() + proxy->hold_ms;
    else if (proxy->fault == PROXY_HALF) {
        shutdown(pair->fd[proxy->direction == PROXY_TO_SERVER ? 1 : 0], SHUT_WR);
        pair->silent_ms[proxy->direction] = INT64_MAX;
    } else
        close_pair(pair);
}

/* Counts round trips. A message of an unknown protocol ends when the other end begins to answer it:
   how many pieces it arrives in is chance. Returns 1 if the fault's last message has ended so. */
static int ends_turn(struct proxy *proxy, struct pair *pair, int direction)
{
    int ended = proxy->postgresql < 0 && pair->spoke == !direction;

    proxy->trips += direction == PROXY_TO_SERVER && pair->spoke != direction;
    pair->spoke = direction;
    if (!ended || (int)proxy->direction == direction)
        return 0;
    proxy->messages--;
    return is_due(proxy, pair, !direction);
}

/* The bytes behind a fault stay in the socket, because a connection may forward them later. */
static void forward(struct proxy *proxy, struct pair *pair, int direction)
{
    unsigned char buffer[4096];
    int in = pair->fd[direction == PROXY_TO_SERVER ? 0 : 1];
    int out = pair->fd[direction == PROXY_TO_SERVER ? 1 : 0];
    ssize_t got = recv(in, buffer, sizeof buffer, MSG_PEEK);
    ssize_t upto = 0;

    if (got <= 0) {
        close_pair(pair);
        return;
    }
    if (ends_turn(proxy, pair, direction)) {
        strike(proxy, pair);
        return;
    }
    while (upto < got && !is_due(proxy, pair, direction)) {
        unsigned char byte = buffer[upto++];

        if (take_byte(proxy, &pair->stream[direction], byte, (size_t)(got - upto)) &&
            proxy->postgresql >= 0 && (int)proxy->direction == direction)
            proxy->messages--;
    }
    if (upto > 0 && (recv(in, buffer, (size_t)upto, 0) != upto ||
                     send(out, buffer, (size_t)upto, MSG_NOSIGNAL) != upto)) {
        close_pair(pair);
        return;
    }
    if (is_due(proxy, pair, direction))
        strike(proxy, pair);
}

/* The end that sends in a direction has its number: 0 is the client, PROXY_TO_SERVER. */
static int is_silent(const struct pair *pair, int end, int64_t now)
{
    return pair->silent_ms[end] > now;
}

/* Sets how long to wait: until a silent direction is forwarded again. */
static nfds_t watch(const struct proxy *proxy, int hang, struct pollfd *fds, int *wait_ms)
{
    int64_t now = now_ms();
    nfds_t n = 0;

    *wait_ms = -1;
    fds[n++] = (struct pollfd){proxy->wake[0], POLLIN, 0};
    fds[n++] = (struct pollfd){hang ? -1 : proxy->listener, POLLIN, 0};
    for (int i = 0; i < MOST; i++)
        for (int end = 0; end < 2; end++) {
            const struct pair *pair = &proxy->pair[i];
            int64_t left = pair->silent_ms[end] - now;

            fds[n++] = (struct pollfd){is_silent(pair, end, now) ? -1 : pair->fd[end], POLLIN, 0};
            if (pair->fd[end] >= 0 && left > 0 && left < INT32_MAX &&
                (*wait_ms < 0 || left < *wait_ms))
                *wait_ms = (int)left;
        }
    return n;
}

static void *body(void *data)
{
    struct proxy *proxy = data;
    struct pollfd fds[2 + 2 * MOST];
    char byte;
    int quit = 0, hang = 0, wait_ms;

    while (!quit) {
        nfds_t n = watch(proxy, hang, fds, &wait_ms);

        poll(fds, n, wait_ms);
        pthread_mutex_lock(&proxy->mutex);
        if (fds[0].revents && read(proxy->wake[0], &byte, 1) == 1 && proxy->cut) {
            for (int i = 0; i < MOST; i++)
                close_pair(&proxy->pair[i]);
            proxy->cut = 0;
        }
        quit = proxy->quit;
        for (int i = 0; i < MOST; i++)
            for (int end = 0; end < 2; end++)
                if (fds[2 + 2 * i + end].revents && proxy->pair[i].fd[end] >= 0 &&
                    !is_silent(&proxy->pair[i], end, now_ms()))
                    forward(proxy, &proxy->pair[i], end == 0 ? PROXY_TO_SERVER : PROXY_TO_CLIENT);
        if (fds[1].revents && proxy->fault == PROXY_HANG)
            hang = proxy->struck = 1;
        else if (fds[1].revents)
            accept_one(proxy);
        hang = hang && proxy->fault == PROXY_HANG;
        pthread_cond_broadcast(&proxy->changed);
        pthread_mutex_unlock(&proxy->mutex);
    }
    return NULL;
}

static void wake(struct proxy *proxy)
{
    while (write(proxy->wake[1], "!", 1) != 1)
        ;
}

struct proxy *proxy_start(int port, int postgresql)
{
    struct proxy *proxy = calloc(1, sizeof *proxy);
    struct sockaddr_in at = address(0);
    socklen_t length = sizeof at;

    if (!proxy || pipe(proxy->wake))
        abort();
    proxy->server_port = port;
    proxy->postgresql = postgresql;
    for (int i = 0; i < MOST; i++)
        proxy->pair[i].fd[0] = proxy->pair[i].fd[1] = -1;
    proxy->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(proxy->listener, (struct sockaddr *)&at, sizeof at) || listen(proxy->listener, 16) ||
        getsockname(proxy->listener, (struct sockaddr *)&at, &length))
        abort();
    proxy->port = ntohs(at.sin_port);
    pthread_mutex_init(&proxy->mutex, NULL);
    pthread_cond_init(&proxy->changed, NULL);
    if (pthread_create(&proxy->thread, NULL, body, proxy))
        abort();
    return proxy;
}

void proxy_stop(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    proxy->quit = proxy->cut = 1;
    pthread_mutex_unlock(&proxy->mutex);
    wake(proxy);
    pthread_join(proxy->thread, NULL);
    for (int i = 0; i < MOST; i++)
        close_pair(&proxy->pair[i]);
    close(proxy->listener);
    close(proxy->wake[0]);
    close(proxy->wake[1]);
    pthread_mutex_destroy(&proxy->mutex);
    pthread_cond_destroy(&proxy->changed);
    free(proxy);
}

int proxy_port(const struct proxy *proxy)
{
    return proxy->port;
}

static void arm(struct proxy *proxy, enum proxy_fault fault, enum proxy_direction direction,
                int messages, int hold_ms, int inside)
{
    pthread_mutex_lock(&proxy->mutex);
    proxy->fault = fault;
    proxy->direction = direction;
    proxy->messages = messages;
    proxy->hold_ms = hold_ms;
    proxy->inside = inside;
    proxy->struck = 0;
    for (int i = 0; i < MOST; i++)
        proxy->pair[i].spoke = -1;
    pthread_mutex_unlock(&proxy->mutex);
}

void proxy_arm(struct proxy *proxy, enum proxy_fault fault, enum proxy_direction direction,
               int messages)
{
    arm(proxy, fault, direction, messages, 0, 0);
}

void proxy_hold(struct proxy *proxy, enum proxy_direction direction, int messages, int ms)
{
    arm(proxy, PROXY_HOLD, direction, messages, ms, 0);
}

void proxy_split(struct proxy *proxy, enum proxy_fault fault, enum proxy_direction direction,
                 int messages, int ms)
{
    arm(proxy, fault, direction, messages, ms, 1);
}

/* A message is passed on before its fault strikes, both under the mutex: without it, this might
   answer too early. */
int proxy_has_struck(struct proxy *proxy)
{
    int struck;

    pthread_mutex_lock(&proxy->mutex);
    struck = proxy->struck;
    pthread_mutex_unlock(&proxy->mutex);
    return struck;
}

int proxy_disarm(struct proxy *proxy)
{
    int struck;

    pthread_mutex_lock(&proxy->mutex);
    struck = proxy->struck;
    proxy->fault = PROXY_NONE;
    pthread_mutex_unlock(&proxy->mutex);
    return struck;
}

long proxy_trips(struct proxy *proxy)
{
    return proxy->trips;
}

void proxy_cut_all(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    proxy->cut = 1;
    pthread_mutex_unlock(&proxy->mutex);
    wake(proxy);
}

static int is_serving(const struct proxy *proxy)
{
    for (int i = 0; i < MOST; i++)
        if (proxy->pair[i].fd[0] >= 0 || proxy->pair[i].fd[1] >= 0)
            return 1;
    return 0;
}

void proxy_settle(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
    while (is_serving(proxy))
        pthread_cond_wait(&proxy->changed, &proxy->mutex);
    pthread_mutex_unlock(&proxy->mutex);
}
