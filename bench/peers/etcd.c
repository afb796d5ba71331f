/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcd through its native gRPC. Unary calls are HTTP/2 requests, which libcurl sends on one
 * connection that stays open; protobuf.c encodes the messages. No JSON gateway is involved.
 *
 * This is the recipe of etcd's own client/v3/concurrency, with one lease per client. A transaction
 * creates the key NAME/LEASE if it does not exist, and reads the oldest key of NAME: one round trip
 * if the name is free. Otherwise the server's lock service (v3lockpb.Lock) waits for the
 * predecessor, using the same key. Deleting the key releases the lock.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/list.h"
#include "peers/protobuf.h"

#define FRAME 5 /* the gRPC header: a byte "compressed", four bytes of length */

struct session {
    CURL *curl;
    struct curl_slist *headers;
    char url[100];
    uint64_t lease;
    unsigned char answer[4096];
    size_t answered;
    int status; /* the status of gRPC */
    char message[200];
};

/* ---- a call ---------------------------------------------------------------------------------- */

static size_t on_body(char *data, size_t one, size_t size, void *context)
{
    struct session *session = context;

    if (session->answered + size > sizeof session->answer)
        return 0;
    memcpy(session->answer + session->answered, data, size);
    session->answered += size;
    return one * size;
}

/* libcurl delivers trailers as headers. */
static size_t on_header(char *data, size_t one, size_t size, void *context)
{
    struct session *session = context;

    if (size > 12 && strncasecmp(data, "grpc-status:", 12) == 0)
        session->status = atoi(data + 12);
    if (size > 13 && strncasecmp(data, "grpc-message:", 13) == 0)
        snprintf(session->message, sizeof session->message, "%.*s", (int)size - 13, data + 13);
    return one * size;
}

static struct protobuf_view call(struct session *session, const char *method,
                                 const struct protobuf *request)
{
    unsigned char frame[FRAME + PROTOBUF_MOST] = {0};
    char url[200];
    CURLcode code;

    for (int i = 0; i < 4; i++)
        frame[1 + i] = (unsigned char)(request->size >> (24 - 8 * i));
    memcpy(frame + FRAME, request->data, request->size);
    snprintf(url, sizeof url, "%s/%s", session->url, method);
    session->answered = 0;
    session->status = -1;
    session->message[0] = 0;
    curl_easy_setopt(session->curl, CURLOPT_URL, url);
    curl_easy_setopt(session->curl, CURLOPT_POSTFIELDS, frame);
    curl_easy_setopt(session->curl, CURLOPT_POSTFIELDSIZE, (long)(FRAME + request->size));
    code = curl_easy_perform(session->curl);
    /* From the second call on, use the connection as it is: libcurl 7.88 would start HTTP/2
       again on it (curl pull request 10643). */
    curl_easy_setopt(session->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2_0);
    if (code != CURLE_OK)
        bench_die("etcd: %s: %s", method, curl_easy_strerror(code));
    if (session->status != 0 || session->answered < FRAME)
        bench_die("etcd: %s: status %d%s", method, session->status, session->message);
    return (struct protobuf_view){session->answer + FRAME, session->answered - FRAME};
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void connect_to(struct session *session, const char *url)
{
    static const char *const headers[] = {"Content-Type: application/grpc", "TE: trailers",
                                          "Expect:"};

    snprintf(session->url, sizeof session->url, "%s", url);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        session->headers = curl_slist_append(session->headers, headers[i]);
    curl_easy_setopt(session->curl, CURLOPT_HTTP_VERSION,
                     (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    curl_easy_setopt(session->curl, CURLOPT_HTTPHEADER, session->headers);
    curl_easy_setopt(session->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(session->curl, CURLOPT_WRITEDATA, session);
    curl_easy_setopt(session->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(session->curl, CURLOPT_HEADERDATA, session);
    curl_easy_setopt(session->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(session->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(session->curl, CURLOPT_PROTOCOLS_STR, "http");
}

static void *open_session(const struct bench_place *place, int client)
{
    struct session *session = calloc(1, sizeof *session);
    struct protobuf grant = {.size = 0};

    (void)client;
    session->curl = curl_easy_init();
    connect_to(session, place->url);
    protobuf_number(&grant, 1, (uint64_t)(place->ttl_ms + 999) / 1000);
    session->lease = protobuf_get_number(call(session, "etcdserverpb.Lease/LeaseGrant", &grant), 2);
    if (session->lease == 0)
        bench_die("etcd: no lease");
    return session;
}

static void close_session(void *data)
{
    struct session *session = data;
    struct protobuf revoke = {.size = 0};

    protobuf_number(&revoke, 1, session->lease);
    call(session, "etcdserverpb.Lease/LeaseRevoke", &revoke);
    curl_easy_cleanup(session->curl);
    curl_slist_free_all(session->headers);
    free(session);
}

/* ---- the recipe ------------------------------------------------------------------------------ */

struct keys {
    char name[BENCH_NAME], own[BENCH_NAME + 20], first[BENCH_NAME + 2], end[BENCH_NAME + 2];
};

static struct keys keys_of(const struct session *session, unsigned name)
{
    struct keys keys;

    bench_name(name, keys.name);
    snprintf(keys.own, sizeof keys.own, "%s/%llx", keys.name, (unsigned long long)session->lease);
    snprintf(keys.first, sizeof keys.first, "%s/", keys.name);
    snprintf(keys.end, sizeof keys.end, "%s%c", keys.name, '/' + 1);
    return keys;
}

/* The oldest key of the name: its owner holds the lock. */
static void ask_for_owner(struct protobuf *out, const struct keys *keys)
{
    protobuf_text(out, 1, keys->first);
    protobuf_text(out, 2, keys->end);
    protobuf_number(out, 3, 1); /* limit */
    protobuf_number(out, 5, 1); /* ascending */
    protobuf_number(out, 6, 2); /* by creation */
}

static void write_attempt(struct protobuf *txn, const struct session *session,
                          const struct keys *keys)
{
    struct protobuf compare = {.size = 0}, put = {.size = 0}, range = {.size = 0},
                    put_op = {.size = 0}, range_op = {.size = 0};

    protobuf_number(&compare, 1, 0); /* equal */
    protobuf_number(&compare, 2, 1); /* the revision of its creation */
    protobuf_text(&compare, 3, keys->own);
    protobuf_number(&compare, 5, 0); /* the key does not exist */
    protobuf_text(&put, 1, keys->own);
    protobuf_number(&put, 3, session->lease);
    ask_for_owner(&range, keys);
    protobuf_message(&put_op, 2, &put);
    protobuf_message(&range_op, 1, &range);
    protobuf_message(txn, 1, &compare);
    protobuf_message(txn, 2, &put_op);
    protobuf_message(txn, 2, &range_op);
    protobuf_message(txn, 3, &range_op);
}

static int is_owner(struct protobuf_view answer, const struct keys *keys)
{
    int created = protobuf_get_number(answer, 2) != 0;
    struct protobuf_view response = protobuf_get_nth(answer, 3, created ? 1 : 0);
    struct protobuf_view owner =
        protobuf_get(protobuf_get(protobuf_get(response, 1), 2), 1); /* range, kv, key */

    return owner.size == strlen(keys->own) && memcmp(owner.data, keys->own, owner.size) == 0;
}

static void acquire(void *data, unsigned name)
{
    struct session *session = data;
    struct keys keys = keys_of(session, name);
    struct protobuf txn = {.size = 0}, lock = {.size = 0};

    write_attempt(&txn, session, &keys);
    if (is_owner(call(session, "etcdserverpb.KV/Txn", &txn), &keys))
        return;
    protobuf_text(&lock, 1, keys.name);
    protobuf_number(&lock, 2, session->lease);
    call(session, "v3lockpb.Lock/Lock", &lock); /* returns when we hold the lock */
}

static void release(void *data, unsigned name)
{
    struct session *session = data;
    struct keys keys = keys_of(session, name);
    struct protobuf erase = {.size = 0};

    protobuf_text(&erase, 1, keys.own);
    if (protobuf_get_number(call(session, "etcdserverpb.KV/DeleteRange", &erase), 2) != 1)
        bench_die("etcd: the key was not ours any more");
}

static void run_etcdctl(const struct bench_place *place, struct bench_command *out)
{
    setenv("ETCDCTL_API", "3", 1);
    snprintf(out->text, sizeof out->text, "--endpoints=%s", place->url);
    bench_append(out, "etcdctl");
    bench_append(out, out->text);
    bench_append(out, "lock");
    bench_append(out, "bench:process");
    bench_append(out, "true");
}

const struct bench_peer bench_peers_etcd[] = {
    {"etcd", "etcd", 0, BENCH_BOTH, "etcd, native gRPC; etcdctl lock as a process",
     .open = open_session, .acquire = acquire, .release = release, .close = close_session,
     .command = run_etcdctl, .expires = 1},
    {.name = NULL},
};
