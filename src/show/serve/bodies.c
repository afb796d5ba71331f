/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/bodies.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/output.h"

#define MOST ((size_t)64 << 20)  /* bytes in all; beyond that only small answers are added */
#define SMALL ((size_t)64 << 10) /* bytes; every connection may have one such answer */

struct body {
    struct body *next, **link; /* link: the pointer that points here */
    struct body_key key;
    unsigned status;
    struct MHD_Response *response; /* it counts the references */
    size_t size;
    char text[];
};

struct body_key body_key(const struct question *question, const struct shown *shown)
{
    return (struct body_key){.question = *question,
                             .all_ms = shown->all ? shown->all->asked_ms : 0,
                             .detail_ms = shown->detail ? shown->detail->asked_ms : 0,
                             .age_s = shown->age_ms / 1000,
                             .code = shown->code};
}

static int is_same(const struct body_key *a, const struct body_key *b)
{
    return a->question.route == b->question.route && a->all_ms == b->all_ms &&
           a->detail_ms == b->detail_ms && a->age_s == b->age_s && a->code == b->code &&
           strcmp(a->question.name, b->question.name) == 0 &&
           a->question.may_be_old == b->question.may_be_old;
}

struct MHD_Response *bodies_find(const struct bodies *bodies, const struct body_key *key,
                                 unsigned *status)
{
    const struct body *body = bodies->first;

    while (body && !is_same(&body->key, key))
        body = body->next;
    if (!body)
        return NULL;
    *status = body->status;
    return body->response;
}

static size_t size_of(const struct bodies *bodies)
{
    size_t size = 0;

    for (const struct body *body = bodies->first; body; body = body->next)
        size += body->size;
    return size;
}

/* Frees an answer; libmicrohttpd calls it after the last reader. */
static void forget(void *text)
{
    struct body *body = (void *)((char *)text - offsetof(struct body, text));

    *body->link = body->next;
    if (body->next)
        body->next->link = body->link;
    free(body);
}

struct MHD_Response *bodies_add(struct bodies *bodies, const struct serve_library *library,
                                const struct body_key *key, const struct answer *answer)
{
    struct body *body;

    if (answer->size > SMALL && size_of(bodies) > MOST)
        return NULL;
    body = malloc(sizeof *body + answer->size);
    if (!body)
        return NULL;
    *body = (struct body){.key = *key, .status = answer->status, .size = answer->size};
    memcpy(body->text, answer->body, answer->size);
    body->response = library->MHD_create_response_from_buffer_with_free_callback(
        answer->size, body->text, forget);
    if (!body->response) {
        free(body);
        return NULL;
    }
    body->next = bodies->first;
    body->link = &bodies->first;
    if (body->next)
        body->next->link = &body->next;
    bodies->first = body;
    return body->response;
}

#define LIBRARY_FILE "libmicrohttpd.so.12"

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define SERVE_XX(function) {#function, offsetof(struct serve_library, function)},
    SERVE_FUNCTIONS(SERVE_XX)
#undef SERVE_XX
};

static struct serve_library library;

const struct serve_library *serve_library(void)
{
    void *handle = dlopen(LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        message("cannot load %s; install the package libmicrohttpd12", LIBRARY_FILE);
        return NULL;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(handle, functions[i].name);

        if (!symbol) {
            message("%s has no %s; install a newer libmicrohttpd", LIBRARY_FILE, functions[i].name);
            return NULL;
        }
        memcpy((char *)&library + functions[i].offset, &symbol, sizeof symbol);
    }
    return &library;
}
