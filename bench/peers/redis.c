/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of the Redis manual: SET key token NX PX ttl, and a script that deletes the key if it
 * still contains our token. A refused client is not woken: it retries at random intervals that grow
 * from 1 to 50 ms (the client libraries of the Redlock family wait 50 to 250 ms).
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peers/list.h"

static const char script[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                             "return redis.call('del', KEYS[1]) else return 0 end";

struct session {
    redisContext *redis;
    char sha[64], token[40];
    int ttl_ms;
};

static redisReply *checked(struct session *session, void *answer)
{
    redisReply *reply = answer;

    if (!reply)
        bench_die("Redis: %s", session->redis->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        bench_die("Redis: %s", reply->str);
    return reply;
}

static int port_of(const char *url) /* redis://127.0.0.1:PORT */
{
    return atoi(strrchr(url, ':') + 1);
}

static void *open_session(const struct bench_place *place, int client)
{
    struct session *session = calloc(1, sizeof *session);
    redisReply *reply;

    session->redis = redisConnect("127.0.0.1", port_of(place->url));
    if (!session->redis || session->redis->err)
        bench_die("Redis: no connection");
    session->ttl_ms = place->ttl_ms;
    snprintf(session->token, sizeof session->token, "%d:%d:%ld", (int)getpid(), client, random());
    reply = checked(session, redisCommand(session->redis, "SCRIPT LOAD %s", script));
    snprintf(session->sha, sizeof session->sha, "%s", reply->str);
    freeReplyObject(reply);
    return session;
}

static int try(struct session *session, const char *name)
{
    redisReply *reply = checked(session, redisCommand(session->redis, "SET %s %s NX PX %d", name,
                                                      session->token, session->ttl_ms));
    int won = reply->type == REDIS_REPLY_STATUS;

    freeReplyObject(reply);
    return won;
}

static void acquire(void *data, unsigned name)
{
    char text[BENCH_NAME];
    unsigned pause = 0;

    bench_name(name, text);
    while (!try(data, text))
        bench_pause(&pause);
}

static void release(void *data, unsigned name)
{
    struct session *session = data;
    char text[BENCH_NAME];
    redisReply *reply;

    bench_name(name, text);
    reply = checked(session, redisCommand(session->redis, "EVALSHA %s 1 %s %s", session->sha, text,
                                          session->token));
    if (reply->integer != 1)
        bench_die("Redis: the lock was not ours any more");
    freeReplyObject(reply);
}

static void close_session(void *data)
{
    struct session *session = data;

    redisFree(session->redis);
    free(session);
}

/* A script with two calls, as used in crontabs. */
static void run_client(const struct bench_place *place, struct bench_command *out)
{
    snprintf(out->text, sizeof out->text,
             "[ \"$(redis-cli -p %d SET bench:process $$ NX PX 30000)\" = OK ] || exit 1; true; "
             "redis-cli -p %d EVAL \"%s\" 1 bench:process $$",
             port_of(place->url), port_of(place->url), script);
    bench_append(out, "sh");
    bench_append(out, "-c");
    bench_append(out, out->text);
}

#define LOCK                                                                              \
    .open = open_session, .acquire = acquire, .release = release, .close = close_session, \
    .command = run_client, .expires = 1

const struct bench_peer bench_peers_redis[] = {
    {"redis", "redis", 0, BENCH_NOTHING, "Redis in memory: SET NX PX, compare-and-delete", LOCK},
    {"redis-always", "redis-always", 0, BENCH_BOTH, "the same with appendfsync always", LOCK},
    {.name = NULL},
};
