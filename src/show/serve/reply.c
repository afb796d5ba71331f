/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The headers of every answer. A page loads nothing from elsewhere, runs only files of this
   program, and no other site can show or read it. */
static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

/* A picture can neither run nor load anything, but has a style of its own for its colours. */
static const char picture_policy[] = "default-src 'none'; style-src 'unsafe-inline'; "
                                     "frame-ancestors 'none'";

void reply_headers(const struct serve_library *library, struct MHD_Response *response,
                   const struct answer *answer)
{
    library->MHD_add_response_header(response, "Content-Type", answer->type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        library->MHD_add_response_header(response, headers[i].name,
                                         i == 0 && answer->is_styled ? picture_policy
                                                                     : headers[i].value);
    if (answer->age_s >= 0) {
        char age[24];

        snprintf(age, sizeof age, "%" PRId64, answer->age_s);
        library->MHD_add_response_header(response, "Age", age);
    }
    if (*answer->cookie)
        library->MHD_add_response_header(response, "Set-Cookie", answer->cookie);
    if (answer->status == 429)
        library->MHD_add_response_header(response, "Retry-After", "60");
    if (answer->status == 405)
        library->MHD_add_response_header(response, "Allow",
                                         answer->allow ? answer->allow : "GET, HEAD");
}

void reply_discard(const struct answer *answer)
{
    if (!answer->is_static)
        free(answer->body);
}

/* Sends the answer. A body of NULL closes the connection. */
enum MHD_Result reply(const struct caller *caller, const struct answer *answer)
{
    const struct serve_library *library = caller->library;
    struct MHD_Response *response;
    enum MHD_Result sent;

    if (!answer->body)
        return MHD_NO;
    response = library->MHD_create_response_from_buffer(answer->size, answer->body,
                                                        answer->is_static ? MHD_RESPMEM_PERSISTENT
                                                                          : MHD_RESPMEM_MUST_FREE);
    if (!response) {
        reply_discard(answer);
        return MHD_NO;
    }
    reply_headers(library, response, answer);
    sent = library->MHD_queue_response(caller->connection, answer->status, response);
    library->MHD_destroy_response(response);
    return sent;
}

enum MHD_Result reply_error(const struct caller *caller, unsigned status)
{
    struct answer answer;

    answer_error(status, &answer);
    return reply(caller, &answer);
}

enum MHD_Result reply_refusal(const struct caller *caller, const struct refusal *refusal)
{
    struct answer answer;

    answer_text(refusal->status, refusal->why, &answer);
    return reply(caller, &answer);
}
