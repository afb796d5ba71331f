/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/request.h"

#include <string.h>
#include <strings.h>

#include "util/utf8.h"

static int digit(char c)
{
    const char *digits = "0123456789abcdef", *at;

    if (c >= 'A' && c <= 'F')
        c = (char)(c - 'A' + 'a');
    at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

int request_decode(const char *text, char *out, size_t size)
{
    size_t n = 0;

    for (; text && *text; text++) {
        int byte = (unsigned char)*text;

        if (byte == '%') {
            int high = digit(text[1]), low = high < 0 ? -1 : digit(text[2]);

            if (low < 0)
                return -1;
            byte = 16 * high + low;
            text += 2;
        }
        if (byte == 0 || n + 1 >= size)
            return -1;
        out[n++] = (char)byte;
    }
    out[n] = '\0';
    return rowlock__utf8_length(out, n) < 0 ? -1 : 0;
}

/* Whether the host is an address of 127.0.0.0/8, in four parts. */
static int is_loopback(const char *host, size_t length)
{
    return length >= strlen("127.0.0.1") && strncmp(host, "127.", 4) == 0 &&
           strspn(host, "0123456789.") == length;
}

int request_host_is_local(const char *host)
{
    size_t length;

    if (!host)
        return 0;
    if (strncmp(host, "[::1]", 5) == 0)
        return host[5] == '\0' || host[5] == ':';
    length = strcspn(host, ":");
    return (length == strlen("localhost") && strncasecmp(host, "localhost", length) == 0) ||
           is_loopback(host, length);
}
