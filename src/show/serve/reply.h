/* SPDX-License-Identifier: Apache-2.0 */
/* Sends an answer by libmicrohttpd, with the headers that keep other sites and caches out. */
#ifndef ROWLOCK_SERVE_REPLY_H
#define ROWLOCK_SERVE_REPLY_H

#include "show/serve/access.h"

/* Adds the headers of the answer. */
void reply_headers(const struct serve_library *library, struct MHD_Response *response,
                   const struct answer *answer);
/* Frees the body, unless it is static. */
void reply_discard(const struct answer *answer);

/* Sends the answer, whose body libmicrohttpd frees. A body of NULL closes the connection. */
enum MHD_Result reply(const struct caller *caller, const struct answer *answer);
/* Sends answer_error(), the text of a refusal. */
enum MHD_Result reply_error(const struct caller *caller, unsigned status);
enum MHD_Result reply_refusal(const struct caller *caller, const struct refusal *refusal);

#endif
