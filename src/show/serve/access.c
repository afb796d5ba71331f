/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/access.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "command/exit_status.h"
#include "command/output/json.h"
#include "command/output/output.h"

#define TOKEN_HEADER "X-Rowlock-Token"
#define SCHEME_HEADER "X-Forwarded-Proto"
#define ADDRESS_SIZE 64

/* ---- the options ----------------------------------------------------------------------------- */

/* The next address of a list with commas. 0: there is none. */
static int next_address(const char **list, char *out)
{
    size_t length;

    *list += strspn(*list, ",");
    length = strcspn(*list, ",");
    if (length == 0)
        return 0;
    snprintf(out, ADDRESS_SIZE, "%.*s", (int)(length < ADDRESS_SIZE ? length : ADDRESS_SIZE - 1),
             *list);
    *list += length;
    return 1;
}

int access_check(const struct access_options *options)
{
    const char *why = NULL, *header = options->header, *proxies = options->proxies;
    char address[ADDRESS_SIZE];
    unsigned char binary[16];
    size_t n;

    if (!options->users && (options->may_act || options->must_log_in || header))
        why = "--users FILE is missing: it names the users and their roles";
    else if (options->users && !options->may_act && !options->must_log_in)
        why = "--users has no effect without --allow-actions or --require-login";
    else if (!header != !proxies)
        why =
            "--user-header and --proxy belong together: the header counts only if a proxy sent it";
    if (why) {
        message("%s", why);
        return STATUS_USAGE;
    }
    n = header ? strspn(header, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-")
               : 0;
    if (header && (n == 0 || n >= ADDRESS_SIZE || header[n])) {
        message("--user-header: '%s' is not the name of a header", shown(header));
        return STATUS_USAGE;
    }
    if (proxies && strspn(proxies, ",") == strlen(proxies)) {
        message("--proxy: '%s' has no address: give those of the proxies, as 127.0.0.1 or ::1",
                shown(proxies));
        return STATUS_USAGE;
    }
    while (proxies && next_address(&proxies, address))
        if (strcmp(address, "unix") != 0 && inet_pton(AF_INET, address, binary) != 1 &&
            inet_pton(AF_INET6, address, binary) != 1) {
            message("--proxy: '%s' is not an address: give those of the proxies, as 127.0.0.1 or "
                    "::1, with commas between them; unix is the Unix socket of --listen",
                    shown(address));
            return STATUS_USAGE;
        }
    return options->users ? users_check(options->users) : STATUS_OK;
}

/* ---- the sender ------------------------------------------------------------------------------ */

const char *caller_header(const struct caller *caller, const char *name)
{
    return caller->library->MHD_lookup_connection_value(caller->connection, MHD_HEADER_KIND, name);
}

struct counting {
    const char *name;
    int n;
};

static enum MHD_Result count(void *data, enum MHD_ValueKind kind, const char *key,
                             const char *value)
{
    struct counting *counting = data;

    (void)kind;
    (void)value;
    counting->n += strcasecmp(key, counting->name) == 0;
    return MHD_YES;
}

/* Whether there are two of it: a proxy and rowlock might read different ones. */
static int is_twice(const struct caller *caller, const char *name)
{
    struct counting counting = {name, 0};

    caller->library->MHD_get_connection_values(caller->connection, MHD_HEADER_KIND, count,
                                               &counting);
    return counting.n > 1;
}

/* The sender's address without its port: "unix" of a Unix socket; an IPv4 address as such, however
   the socket shows it. */
static void find_address(const struct caller *caller, char *out)
{
    const union MHD_ConnectionInfo *is = caller->library->MHD_get_connection_info(
        caller->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = is ? is->client_addr : NULL;
    static const char mapped[] = "::ffff:";

    strcpy(out, "unix");
    if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return;
    if (getnameinfo(address,
                    address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                  : sizeof(struct sockaddr_in6),
                    out, ADDRESS_SIZE, NULL, 0, NI_NUMERICHOST))
        strcpy(out, "?");
    if (strncmp(out, mapped, strlen(mapped)) == 0 && strchr(out, '.'))
        memmove(out, out + strlen(mapped), strlen(out + strlen(mapped)) + 1);
}

/* Whether a password comes from this machine, where a proxy may have ended TLS: no other machine
   could read it. */
static int is_near(const char *address)
{
    return strcmp(address, "unix") == 0 || strcmp(address, "::1") == 0 ||
           strncmp(address, "127.", 4) == 0;
}

static int is_proxy(const struct access *access, const char *address)
{
    const char *list = access->options.proxies;
    unsigned char wanted[16], is[16];
    char proxy[ADDRESS_SIZE];

    while (list && next_address(&list, proxy)) {
        int family = strchr(proxy, ':') ? AF_INET6 : AF_INET;

        if (strcmp(proxy, address) == 0)
            return 1;
        if (inet_pton(family, proxy, wanted) == 1 && inet_pton(family, address, is) == 1 &&
            memcmp(wanted, is, family == AF_INET ? 4 : 16) == 0)
            return 1;
    }
    return 0;
}

/* The user that a trusted proxy names. NULL: none. */
static const char *proxied_user(const struct access *access, const struct caller *caller)
{
    char address[ADDRESS_SIZE];
    const char *user;

    find_address(caller, address);
    if (!access->options.header || !is_proxy(access, address) ||
        is_twice(caller, access->options.header))
        return NULL;
    user = caller_header(caller, access->options.header);
    return user && user_name_is_good(user) ? user : NULL;
}

/* The session of the cookie; not if the proxy names another user by now, or none. */
static int find_session(struct access *access, const struct caller *caller, struct session *out)
{
    const char *id = caller->library->MHD_lookup_connection_value(caller->connection,
                                                                  MHD_COOKIE_KIND, access->cookie);
    const char *user = proxied_user(access, caller);

    if (!access->options.users || !sessions_find(&access->sessions, id, out))
        return 0;
    if (user ? strcmp(user, out->user) == 0 : !out->by_proxy)
        return 1;
    *out = (struct session){.id = ""};
    return 0;
}

/* ---- same origin ----------------------------------------------------------------------------- */

/* Browsers state where a request comes from; no page can change it. Other programs send neither
   header, and no cookie that a page of another site could use. */
static int is_same_origin(const struct caller *caller)
{
    const char *site = caller_header(caller, "Sec-Fetch-Site");
    const char *origin = caller_header(caller, "Origin"), *host = caller_header(caller, "Host");

    if (is_twice(caller, "Sec-Fetch-Site") || is_twice(caller, "Origin"))
        return 0;
    if (site)
        return strcmp(site, "same-origin") == 0;
    if (!origin)
        return 1;
    origin = strstr(origin, "://");
    return origin && host && strcasecmp(origin + 3, host) == 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

struct refusal access_to_read(struct access *access, const struct caller *caller)
{
    struct session session;

    if (!access->options.must_log_in || find_session(access, caller, &session))
        return (struct refusal){0, NULL};
    return (struct refusal){401, "log in first: rowlock serve runs with --require-login"};
}

static int has_token(const struct caller *caller, const struct session *session)
{
    const char *token = caller_header(caller, TOKEN_HEADER);

    return token && !is_twice(caller, TOKEN_HEADER) && secret_is(session->token, token);
}

struct refusal access_to_act(struct access *access, const struct caller *caller,
                             struct order *order)
{
    const char *type = caller_header(caller, "Content-Type");
    const char *length = caller_header(caller, "Content-Length");
    int is_login = !action_needs_operator(order->action) && !action_is_logout(order->action);
    size_t n = length ? strlen(length) : 0;

    find_address(caller, order->from);
    if (is_twice(caller, "Host") || is_twice(caller, "Content-Length"))
        return (struct refusal){400, "a header is there twice"};
    if (!is_same_origin(caller))
        return (struct refusal){403, "the request comes from a page of another site"};
    if (!type || strncasecmp(type, "application/json", strlen("application/json")) != 0 ||
        !strchr("; ", type[strlen("application/json")]))
        return (struct refusal){415, "the body must be JSON: Content-Type: application/json"};
    if (caller_header(caller, "Transfer-Encoding") || n == 0 || n > 6 ||
        strspn(length, "0123456789") != n || atoi(length) > ORDER_MOST)
        return (struct refusal){413, "the body must have a Content-Length of at most 4096"};
    if (is_login && !is_near(order->from))
        return (struct refusal){403, "passwords are accepted on this machine only: log in through "
                                     "a proxy with TLS on it"};
    if (is_login)
        return (struct refusal){0, NULL};
    if (!find_session(access, caller, &order->session))
        return (struct refusal){401, "log in first"};
    if (!has_token(caller, &order->session))
        return (struct refusal){403, "the header " TOKEN_HEADER " is not the session's token"};
    if (action_needs_operator(order->action) && order->session.role != ROLE_OPERATOR)
        return (struct refusal){403, "this needs the role operator"};
    return (struct refusal){0, NULL};
}

/* ---- the session ----------------------------------------------------------------------------- */

void access_set_cookie(const struct access *access, const struct caller *caller, const char *id,
                       struct answer *out)
{
    const char *origin = caller_header(caller, "Origin");
    const char *scheme = caller_header(caller, SCHEME_HEADER);
    char address[ADDRESS_SIZE];
    int is_secure; /* the browser speaks TLS, as it says itself, or a trusted proxy */

    find_address(caller, address);
    is_secure = (origin && strncasecmp(origin, "https://", strlen("https://")) == 0) ||
                (scheme && !is_twice(caller, SCHEME_HEADER) && is_proxy(access, address) &&
                 strcasecmp(scheme, "https") == 0);
    snprintf(out->cookie, sizeof out->cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s",
             access->cookie, id, *id ? "" : "; Max-Age=0", is_secure ? "; Secure" : "");
}

void access_session(struct access *access, const struct caller *caller, struct answer *out)
{
    const struct access_options *options = &access->options;
    const char *user = options->users ? proxied_user(access, caller) : NULL;
    struct session session = {.id = ""};
    char address[ADDRESS_SIZE];
    enum role role;
    FILE *body;

    *out = (struct answer){.status = 200, .type = "application/json", .age_s = -1};
    if (!find_session(access, caller, &session) && user && is_same_origin(caller)) {
        role = users_role(options->users, user);
        if (role && sessions_begin(&access->sessions, user, role, 1, &session) == 0)
            access_set_cookie(access, caller, session.id, out);
        if (!role)
            session = (struct session){.id = ""};
    }
    if (!session.by_proxy && !has_token(caller, &session))
        *session.token = '\0';
    find_address(caller, address);
    body = open_memstream(&out->body, &out->size);
    if (!body)
        return;
    fprintf(body, "{\"actions\":%s,\"required\":%s,\"password\":%s,\"user\":",
            options->may_act ? "true" : "false", options->must_log_in ? "true" : "false",
            options->users && is_near(address) ? "true" : "false");
    json_text(body, session.user);
    fputs(",\"role\":", body);
    json_text(body, role_text(session.role));
    fputs(",\"token\":", body);
    json_text(body, session.token);
    fputs("}\n", body);
    fclose(body);
}
