/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZooKeeper's recipe for locks: an ephemeral sequential node below the node of the name. The
 * smallest number has the lock; every other client watches its predecessor, and looks again when
 * that is gone. The server answers the requests of a session in order, so creating the node and
 * reading the queue take one round trip.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADED
#include <zookeeper/zookeeper.h>

#include "peers/list.h"

#define ROOT "/bench"
#define PATH_SIZE 128

struct session {
    zhandle_t *handle;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int connected, gone, created;
    int code;            /* of the creation */
    char own[PATH_SIZE]; /* the node that is our place in the queue */
};

static void notify(struct session *session, int *what)
{
    pthread_mutex_lock(&session->mutex);
    *what = 1;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
}

static void await(struct session *session, const int *what, int seconds)
{
    struct timespec until;
    int failed = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&session->mutex);
    while (!*what && !failed)
        failed = pthread_cond_timedwait(&session->changed, &session->mutex, &until);
    pthread_mutex_unlock(&session->mutex);
    if (failed)
        bench_die("ZooKeeper: no answer in %d s", seconds);
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)path;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        notify(context, &((struct session *)context)->connected);
}

static void on_gone(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    (void)handle;
    (void)state;
    (void)path;
    if (type != ZOO_SESSION_EVENT)
        notify(context, &((struct session *)context)->gone);
}

static void check(int code, const char *what)
{
    if (code != ZOK)
        bench_die("ZooKeeper: %s: %s", what, zerror(code));
}

static void make_node(struct session *session, const char *path)
{
    int code = zoo_create(session->handle, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);

    if (code != ZNODEEXISTS)
        check(code, path);
}

static void *open_session(const struct bench_place *place, int client)
{
    struct session *session = calloc(1, sizeof *session);

    (void)client;
    zoo_set_debug_level((ZooLogLevel)0); /* relevant messages also come back as errors */
    pthread_mutex_init(&session->mutex, NULL);
    pthread_cond_init(&session->changed, NULL);
    session->handle = zookeeper_init(
        place->url, on_session, place->ttl_ms < 30000 ? place->ttl_ms : 30000, NULL, session, 0);
    if (!session->handle)
        bench_die("ZooKeeper: no handle");
    /* Otherwise the library resolves the server's address before each turn of its loop, twice
       per call. */
    zoo_set_servers_resolution_delay(session->handle, -1);
    await(session, &session->connected, 60);
    return session;
}

static void setup(const struct bench_place *place)
{
    struct session *session = open_session(place, 0);

    make_node(session, ROOT);
    zookeeper_close(session->handle);
    free(session);
}

/* ---- the recipe ------------------------------------------------------------------------------ */

static void on_created(int code, const char *path, const void *context)
{
    struct session *session = (struct session *)context;

    session->code = code;
    if (code == ZOK)
        snprintf(session->own, sizeof session->own, "%s", path);
    notify(session, &session->created);
}

/* Reads our place in the queue, and the other clients in it. Creates the node of a name on its
   first lock. */
static void queue_up(struct session *session, const char *parent, struct String_vector *queue)
{
    char path[PATH_SIZE + 8];
    int code;

    snprintf(path, sizeof path, "%s/lock-", parent);
    for (int tries = 0;; tries++) {
        session->created = 0;
        check(zoo_acreate(session->handle, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE,
                          ZOO_EPHEMERAL | ZOO_SEQUENCE, on_created, session),
              "create");
        code = zoo_get_children(session->handle, parent, 0, queue);
        await(session, &session->created, 60);
        if (session->code != ZNONODE || tries > 0)
            break;
        if (code == ZOK)
            deallocate_String_vector(queue);
        make_node(session, parent);
    }
    check(session->code, "create");
    check(code, "get children");
}

/* Our predecessor; "" if there is none. All numbers have ten digits, so comparing texts compares
   numbers. */
static void find_predecessor(const struct session *session, const char *parent,
                             struct String_vector *queue, char *out)
{
    const char *own = strrchr(session->own, '/') + 1, *best = "";

    for (int i = 0; i < queue->count; i++)
        if (strcmp(queue->data[i], own) < 0 && strcmp(queue->data[i], best) > 0)
            best = queue->data[i];
    out[0] = 0;
    if (*best)
        snprintf(out, PATH_SIZE, "%.60s/%.60s", parent, best);
    deallocate_String_vector(queue);
}

static void watch_until_gone(struct session *session, const char *path)
{
    int code;

    session->gone = 0;
    code = zoo_wexists(session->handle, path, on_gone, session, NULL);
    if (code == ZNONODE)
        return;
    check(code, "exists");
    await(session, &session->gone, 600);
}

static void acquire(void *data, unsigned name)
{
    struct session *session = data;
    char parent[64], text[BENCH_NAME], before[PATH_SIZE];
    struct String_vector queue;

    bench_name(name, text);
    snprintf(parent, sizeof parent, ROOT "/%s", text);
    queue_up(session, parent, &queue);
    for (;;) {
        find_predecessor(session, parent, &queue, before);
        if (!before[0])
            return;
        watch_until_gone(session, before);
        check(zoo_get_children(session->handle, parent, 0, &queue), "get children");
    }
}

static void release(void *data, unsigned name)
{
    struct session *session = data;

    (void)name;
    check(zoo_delete(session->handle, session->own, -1), "delete");
}

static void close_session(void *data)
{
    struct session *session = data;

    zookeeper_close(session->handle);
    free(session);
}

const struct bench_peer bench_peers_zookeeper[] = {
    {"zookeeper", "zookeeper", 0, BENCH_BOTH, "ZooKeeper, the recipe with the C client",
     .setup = setup, .open = open_session, .acquire = acquire, .release = release,
     .close = close_session, .expires = 1},
    {.name = NULL},
};
