/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a request: its parameters and its header Host, which anybody may have written. */
#ifndef ROWLOCK_SERVE_REQUEST_H
#define ROWLOCK_SERVE_REQUEST_H

#include <stddef.h>

#define REQUEST_NAME 256 /* bytes of a parameter, with the zero byte */

/* Decodes %XX. 0; -1: it is malformed, too long, not UTF-8, or has a zero byte. NULL: "". */
int request_decode(const char *text, char *out, size_t size);

/* Whether the header Host names this machine. A page of another site whose host name was rebound to
   127.0.0.1 sends the name of that site. NULL: there is no header. */
int request_host_is_local(const char *host);

#endif
