/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two URLs without what belongs to the login. */
#include "util/url.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/bytes.h"

#define ORACLE "jdbc:oracle:"

/* A setting's name belongs to the login if it is one of these, or begins with one that ends with
   '*'; in upper or lower case. */
static const char *const of_login[] = {"password",        "pwd",
                                       "passfile",        "ssl*",
                                       "tls-version",     "requiressl",
                                       "usessl",          "encrypt",
                                       "trust*",          "keystore*",
                                       "channel_binding", "require_auth",
                                       "gssencmode",      "clientcertificate*"};

static bool is_named(const char *name, size_t length, const char *pattern)
{
    size_t fixed = strcspn(pattern, "*");

    if (length < fixed || strncasecmp(name, pattern, fixed) != 0)
        return false;
    return pattern[fixed] == '*' || length == fixed;
}

static bool is_of_login(const char *setting, size_t length, bool with_user)
{
    size_t name = strcspn(setting, "=");

    if (name > length)
        name = length;
    if (with_user && is_named(setting, name, "user"))
        return true;
    for (size_t i = 0; i < sizeof of_login / sizeof *of_login; i++)
        if (is_named(setting, name, of_login[i]))
            return true;
    return false;
}

/* Copies the settings NAME=VALUE that do not belong to the login, each after a line feed. Behind
   ODBC and JDBC a value may be in braces, with "}}" for '}'. */
static char *put_settings(char *out, const char *at, bool is_native, bool with_user)
{
    while (*at) {
        const char *end = at + strcspn(at, is_native ? "=&" : "=&;");

        if (!is_native && end[0] == '=' && end[1] == '{')
            for (end += 2; *end && (*end != '}' || *++end == '}');)
                end++;
        end += strcspn(end, is_native ? "&" : "&;");
        if (end > at && !is_of_login(at, (size_t)(end - at), with_user)) {
            *out++ = '\n';
            memcpy(out, at, (size_t)(end - at));
            out += end - at;
        }
        at = end + (*end != '\0');
    }
    return out;
}

static bool is_native(const char *url)
{
    return strncasecmp(url, "odbc:", 5) != 0 && strncasecmp(url, "jdbc:", 5) != 0;
}

/* The part of the place that is dropped: user:password@ after "://", or the password alone, as of
   jdbc:oracle:thin:user/password@. */
static void find_login(const char *url, const char *end, bool with_user, const char **from,
                       const char **to)
{
    bool oracle = strncasecmp(url, ORACLE, strlen(ORACLE)) == 0;
    const char *rest = oracle ? url : strstr(url, "://"), *slash;

    *from = *to = end;
    if (!rest || rest >= end || (!oracle && !is_native(url)))
        return;
    rest += oracle ? strlen(ORACLE) : 3;
    slash = memchr(rest, '/', (size_t)(end - rest));
    for (const char *at = rest; at < (slash && !oracle ? slash : end); at++)
        if (*at == '@')
            *to = at;
    *from = with_user ? rest : memchr(rest, oracle ? '/' : ':', (size_t)(*to - rest));
    if (*to == end || !*from)
        *from = *to = end;
    else
        *to += with_user; /* the '@' */
}

/* The URL without its login, for comparison only; malloc'd, or NULL. The user stays if neither a
   path nor a setting names the database: then the user's name may be its name. */
static char *without_login(const char *url)
{
    const char *rest = strstr(url, "://"), *from, *to;
    const char *path = rest ? rest + 3 + strcspn(rest + 3, "/?") : "";
    bool native = is_native(url);
    bool with_user = native && ((path[0] == '/' && path[1] && path[1] != '?') ||
                                rowlock__find_caseless(url, "dbname="));
    size_t place = native ? strcspn(url, "?") : strcspn(url, "?;");
    char *copy = malloc(2 * strlen(url) + 2), *end = copy;

    if (!copy)
        return NULL;
    if (strncasecmp(url, "odbc:", 5) == 0)
        place = 5;
    find_login(url, url + place, with_user, &from, &to);
    memcpy(end, url, (size_t)(from - url));
    end += from - url;
    memcpy(end, to, (size_t)(url + place - to));
    end += url + place - to;
    end = put_settings(end, url + place + (url[place] == '?' || url[place] == ';'), native,
                       with_user);
    *end = '\0';
    return copy;
}

bool rowlock__same_database(const char *url, const char *other)
{
    char *left = without_login(url), *right = without_login(other);
    bool same = left && right && strcmp(left, right) == 0;

    free(left);
    free(right);
    return same;
}
