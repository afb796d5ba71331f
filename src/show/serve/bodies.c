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

struct MHD_Response *bodies_find(const struct bodies *bodies, const struct body_key *key,
                                 unsigned *status)
{
    for (const struct body *body = bodies->first; body; body = body->next) {
        const struct body_key *is = &body->key;

        if (is->question.route == key->question.route &&
            is->question.may_be_old == key->question.may_be_old && is->all_ms == key->all_ms &&
            is->detail_ms == key->detail_ms && is->age_s == key->age_s && is->code == key->code &&
            strcmp(is->question.name, key->question.name) == 0) {
            *status = body->status;
            return body->response;
        }
    }
    return NULL;
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
    size_t all = 0;

    for (body = bodies->first; body; body = body->next)
        all += body->size;
    if (answer->size > SMALL && all > MOST)
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
