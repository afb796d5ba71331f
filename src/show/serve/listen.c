/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/output/output.h"
#include "system/command/calls.h"

#define QUEUE 64

static int cannot_listen(const char *address)
{
    message("cannot listen on %s: %s%s", address, strerror(errno),
            errno == EADDRINUSE
                ? "; another program, perhaps another rowlock serve, listens there: "
                  "choose another address by --listen"
                : "");
    return STATUS_FAILED;
}

/* ---- a Unix socket --------------------------------------------------------------------------- */

/* Removes the file of a socket without a listener: a server that was killed has left it. */
static int make_way(const char *text, const struct sockaddr_un *address)
{
    struct stat is;
    int fd, is_stale;

    if (lstat(address->sun_path, &is))
        return STATUS_OK;
    if (!S_ISSOCK(is.st_mode)) {
        message("cannot listen on %s: a file that is not a socket has this name", text);
        return STATUS_FAILED;
    }
    fd = stream_socket(AF_UNIX);
    is_stale = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
               errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    if (is_stale && unlink(address->sun_path) == 0)
        return STATUS_OK;
    errno = EADDRINUSE;
    return cannot_listen(text);
}

static int open_unix(const char *text, const char *path, struct listening *out)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat is;
    mode_t mask;
    int status, failed;

    if (!*path || strlen(path) >= sizeof address.sun_path) {
        message("--listen %s: the path of a Unix socket has 1 to %zu bytes", text,
                sizeof address.sun_path - 1);
        return STATUS_USAGE;
    }
    strcpy(address.sun_path, path);
    status = make_way(text, &address);
    if (status)
        return status;
    out->fd = stream_socket(AF_UNIX);
    if (out->fd < 0)
        return cannot_listen(text);
    /* Other users never get permission; the umask decides about the group. */
    mask = umask(0177);
    failed = bind(out->fd, (const struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (failed || chmod(path, 0660 & ~mask) || lstat(path, &is) || listen(out->fd, QUEUE))
        return cannot_listen(text);
    out->device = is.st_dev;
    out->inode = is.st_ino;
    out->path = strdup(path);
    snprintf(out->where, sizeof out->where, "unix:%s", path);
    return STATUS_OK;
}

/* ---- TCP ------------------------------------------------------------------------------------- */

/* Splits HOST:PORT or [HOST]:PORT. 0: it has another form. */
static int split(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;

    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    } else if (memchr(text, ':', length)) {
        return 0;
    }
    if (length == 0 || length >= size || !colon[1] ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return 0;
    snprintf(host, size, "%.*s", (int)length, text);
    *port = colon + 1;
    return 1;
}

static int bind_tcp(const char *text, const struct addrinfo *to, struct listening *out)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char host[64];
    int yes = 1;

    out->fd = stream_socket(to->ai_family);
    if (out->fd < 0 || setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
        bind(out->fd, to->ai_addr, to->ai_addrlen) || listen(out->fd, QUEUE))
        return cannot_listen(text);
    /* Asks for the address, because port 0 means any free port. */
    if (getsockname(out->fd, (struct sockaddr *)&address, &length) ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, out->port,
                    sizeof out->port, NI_NUMERICHOST | NI_NUMERICSERV))
        return cannot_listen(text);
    snprintf(out->where, sizeof out->where, strchr(host, ':') ? "http://[%s]:%s/" : "http://%s:%s/",
             host, out->port);
    return STATUS_OK;
}

static int open_tcp(const char *text, int allow_remote, struct listening *out)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    const struct sockaddr_in *v4;
    const struct sockaddr_in6 *v6;
    struct addrinfo *to = NULL;
    const char *port;
    char host[80];
    int is_address = split(text, host, sizeof host, &port), status;

    if (is_address && (strlen(port) > 5 || atoi(port) > 65535)) {
        message("--listen: '%s': a port is a number from 1 to 65535", shown(text));
        return STATUS_USAGE;
    }
    if (!is_address ||
        getaddrinfo(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, port, &hints, &to)) {
        message("--listen: '%s' is not an address: give 127.0.0.1:PORT, [::1]:PORT, localhost:PORT "
                "or unix:PATH",
                shown(text));
        return STATUS_USAGE;
    }
    v4 = (const void *)to->ai_addr;
    v6 = (const void *)to->ai_addr;
    out->is_local = to->ai_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == 127
                                             : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    if (out->is_local || allow_remote) {
        status = bind_tcp(text, to, out);
    } else {
        message("--listen %s: refused, because other machines could read the names, notes and "
                "output of jobs without a login; listen on 127.0.0.1%s or unix:PATH behind a proxy "
                "with TLS and a login, or add --allow-remote if the network is trusted",
                text, strrchr(text, ':'));
        status = STATUS_USAGE;
    }
    freeaddrinfo(to);
    return status;
}

int listen_open(const char *address, int allow_remote, struct listening *out)
{
    int status;

    *out = (struct listening){.fd = -1};
    if (strncmp(address, "unix:", strlen("unix:")) == 0)
        status = open_unix(address, address + strlen("unix:"), out);
    else
        status = open_tcp(address, allow_remote, out);
    if (status)
        listen_close(out);
    return status;
}

void listen_close(struct listening *listening)
{
    struct stat is;

    if (listening->path && lstat(listening->path, &is) == 0 && is.st_dev == listening->device &&
        is.st_ino == listening->inode)
        unlink(listening->path);
    if (listening->fd >= 0)
        close(listening->fd);
    free(listening->path);
    listening->path = NULL;
    listening->fd = -1;
}
