/* SPDX-License-Identifier: Apache-2.0 */
/* Parses mysql:// and mariadb:// URLs. */
#include "driver/mariadb_url.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/bytes.h"
#include "util/error.h"

/* Decodes %XX of [from, to) into *out. Errors name the part, `what`, never its text. */
static int decode(const char *from, const char *to, const char *what, char **out,
                  struct rowlock_error *error)
{
    char *copy = malloc((size_t)(to - from) + 1), *at = copy;

    if (!copy)
        return rowlock__no_memory(error);
    for (; from < to; from++) {
        int c = (unsigned char)*from;

        if (c == '%') {
            c = to - from > 2 ? rowlock__hex_byte(from + 1) : 0;
            from += 2;
            if (c <= 0) {
                rowlock__wipe(copy, (size_t)(at - copy));
                free(copy);
                return rowlock__fail(error, ROWLOCK_EINVAL,
                                     "the URL's %s has a %% without two hex digits, or %%00", what);
            }
        }
        *at++ = (char)c;
    }
    *at = '\0';
    free(*out);
    *out = copy;
    return ROWLOCK_OK;
}

static int parse_host(struct rowlock__mariadb_url *url, const char *from, const char *to,
                      struct rowlock_error *error)
{
    const char *end = to, *colon;
    int code = ROWLOCK_OK;

    if (from < to && *from == '[') { /* IPv6 */
        end = memchr(from, ']', (size_t)(to - from));
        if (!end || (end + 1 < to && end[1] != ':'))
            return rowlock__fail(error, ROWLOCK_EINVAL, "the URL's host has a [ without its ]");
        from++;
        colon = end + 1 < to ? end + 1 : NULL;
    } else {
        colon = memchr(from, ':', (size_t)(to - from));
        if (colon)
            end = colon;
    }
    if (end > from)
        code = decode(from, end, "host", &url->host, error);
    for (from = colon ? colon + 1 : to; !code && from < to; from++) {
        if (*from < '0' || *from > '9' || url->port > 65535)
            code = rowlock__fail(
                error, ROWLOCK_EINVAL,
                "the URL's port is not a number; a / in a password is written %%2F, and @ follows "
                "the password: mariadb://user:password@host:port/database");
        else
            url->port = url->port * 10 + (unsigned)(*from - '0');
    }
    if (!code && url->port > 65535)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "the URL's port is above 65535");
    if (!code && url->host && url->host[0] == '/') {
        free(url->socket);
        url->socket = url->host;
        url->host = NULL;
    }
    return code;
}

static int parse_flag(const char *value, const char *name, int *out, struct rowlock_error *error)
{
    static const struct {
        const char *word;
        int flag;
    } words[] = {{"", 1},  {"1", 1},   {"on", 1},    {"true", 1}, {"yes", 1},
                 {"0", 0}, {"off", 0}, {"false", 0}, {"no", 0}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(value, words[i].word) == 0) {
            *out = words[i].flag;
            return ROWLOCK_OK;
        }
    return rowlock__fail(error, ROWLOCK_EINVAL, "the URL's option %s must be on or off", name);
}

static int parse_option(struct rowlock__mariadb_url *url, const char *from, const char *to,
                        struct rowlock_error *error)
{
    const struct {
        const char *name;
        char **text;
        int *flag;
    } options[] = {
        {"socket", &url->socket, NULL},
        {"default-file", &url->default_file, NULL},
        {"default-group", &url->default_group, NULL},
        {"ssl", NULL, &url->ssl},
        {"ssl-ca", &url->ssl_ca, NULL},
        {"ssl-capath", &url->ssl_capath, NULL},
        {"ssl-cert", &url->ssl_cert, NULL},
        {"ssl-key", &url->ssl_key, NULL},
        {"ssl-cipher", &url->ssl_cipher, NULL},
        {"ssl-verify-server-cert", NULL, &url->ssl_verify},
        {"tls-version", &url->tls_version, NULL},
    };
    const char *equals = memchr(from, '=', (size_t)(to - from));
    const char *end = equals ? equals : to;
    char *value = NULL;
    int code;

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strlen(options[i].name) != (size_t)(end - from) ||
            strncmp(options[i].name, from, (size_t)(end - from)) != 0)
            continue;
        if (options[i].text)
            return decode(equals ? equals + 1 : to, to, options[i].name, options[i].text, error);
        code = decode(equals ? equals + 1 : to, to, options[i].name, &value, error);
        if (!code)
            code = parse_flag(value, options[i].name, options[i].flag, error);
        free(value);
        return code;
    }
    /* does not name it: an unescaped ? in a password would make it part of the message */
    return rowlock__fail(error, ROWLOCK_EINVAL,
                         "the URL has an unknown option; the known ones are socket, default-file, "
                         "default-group, ssl, ssl-ca, ssl-capath, ssl-cert, ssl-key, ssl-cipher, "
                         "ssl-verify-server-cert, tls-version");
}

static int parse(struct rowlock__mariadb_url *url, const char *text, struct rowlock_error *error)
{
    const char *from = strchr(text, ':'), *path, *query, *at = NULL, *colon;
    size_t length;
    int code = ROWLOCK_OK;

    if (!from || strncmp(from, "://", 3) != 0)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the URL does not begin with mariadb://: write "
                             "mariadb://user@host:port/database");
    from += 3;
    path = from + strcspn(from, "/?");
    query = path + strcspn(path, "?");
    for (const char *c = from; c < path; c++)
        if (*c == '@')
            at = c;
    colon = at ? memchr(from, ':', (size_t)(at - from)) : NULL;
    if (at && (colon ? colon : at) > from)
        code = decode(from, colon ? colon : at, "user", &url->user, error);
    if (!code && colon)
        code = decode(colon + 1, at, "password", &url->password, error);
    if (!code)
        code = parse_host(url, at ? at + 1 : from, path, error);
    if (!code && query > path + 1)
        code = decode(path + 1, query, "database", &url->database, error);
    for (const char *option = *query ? query + 1 : query; !code && *option;) {
        length = strcspn(option, "&");
        if (length > 0)
            code = parse_option(url, option, option + length, error);
        option += length;
        option += *option == '&';
    }
    if (!code && url->ssl < 0 && (url->ssl_ca || url->ssl_capath || url->ssl_cert))
        url->ssl = 1;
    return code;
}

int rowlock__mariadb_url(const char *text, struct rowlock__mariadb_url **out,
                         struct rowlock_error *error)
{
    struct rowlock__mariadb_url *url = calloc(1, sizeof *url);
    int code;

    if (!url)
        return rowlock__no_memory(error);
    url->ssl = url->ssl_verify = -1;
    code = parse(url, text, error);
    if (code)
        rowlock__mariadb_url_free(url);
    else
        *out = url;
    return code;
}

void rowlock__mariadb_url_free(struct rowlock__mariadb_url *url)
{
    if (!url)
        return;
    if (url->password)
        rowlock__wipe(url->password, strlen(url->password));
    char *parts[] = {url->user,         url->password,   url->host,        url->database,
                     url->socket,       url->ssl_ca,     url->ssl_capath,  url->ssl_cert,
                     url->ssl_key,      url->ssl_cipher, url->tls_version, url->default_file,
                     url->default_group};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
    free(url);
}
