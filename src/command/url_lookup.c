/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the URL of the database: see url_lookup.h. */
#include "command/url_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "system/system.h"
#include "util/bytes.h"
#include "util/secret_file.h"

#define URL_MAX 4096
#define SYSTEM_FILE "/etc/rowlock/url"
#define REQUIRE_FILE "/etc/rowlock/require-url"
#define ROOT_STATE "/var/lib"

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* A variable that is set but empty is an error: a lost value must not select another database. */
static int refuse_empty(const char *name, const char *means)
{
    const char *value = getenv(name);

    if (!value || *value)
        return STATUS_OK;
    message("%s is set, but empty: set it to %s, or unset it", name, means);
    return STATUS_USAGE;
}

/* $variable/rest, or $HOME/fallback/rest; relative folders are ignored. NULL: neither is set. */
static char *home_path(const char *variable, const char *fallback, const char *rest)
{
    const char *folder = environment(variable), *home = environment("HOME");
    char *path = NULL;

    if (folder && *folder == '/')
        return asprintf(&path, "%s/%s", folder, rest) < 0 ? NULL : path;
    if (!home || *home != '/')
        return NULL;
    return asprintf(&path, "%s/%s/%s", home, fallback, rest) < 0 ? NULL : path;
}

/* ---- the local file ------------------------------------------------------------------------ */

static int set_local(struct url *out)
{
    char *path = NULL;

    if (geteuid() == 0 && !environment("XDG_STATE_HOME"))
        path = strdup(ROOT_STATE "/rowlock/rowlock.db");
    else
        path = home_path("XDG_STATE_HOME", ".local/state", "rowlock/rowlock.db");
    if (!path) {
        message("no database: no URL was given, and a local file needs XDG_STATE_HOME or HOME; use "
                "--db or ROWLOCK_URL");
        return STATUS_USAGE;
    }
    out->is_local = 1;
    if (asprintf(&out->text, "sqlite:%s", path) < 0)
        out->text = NULL;
    free(path);
    return out->text ? STATUS_OK : out_of_memory();
}

int url_make_folder(const struct url *url)
{
    char *path = strdup(url->text + strlen("sqlite:"));
    int failed = 0;

    if (!path)
        return out_of_memory();
    for (char *slash = strchr(path + 1, '/'); slash && !failed; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        failed = mkdir(path, 0700) ? errno : 0;
        /* a folder that exists may be on a read-only disk */
        if (failed == EEXIST || (failed && access(path, F_OK) == 0))
            failed = 0;
        if (failed)
            message(
                "the folder '%s' cannot be created: %s; name a database (--db, ROWLOCK_URL), or "
                "set XDG_STATE_HOME to a folder that you can write to",
                path, strerror(failed));
        *slash = '/';
    }
    free(path);
    return failed ? STATUS_UNAVAILABLE : STATUS_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The next line that is neither empty nor a comment, without the blanks around it; `*number` counts
   lines. */
static char *next_line(FILE *file, size_t *number)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    while ((length = getline(&line, &size, file)) >= 0) {
        size_t from = strspn(line, " \t");

        ++*number;
        while (length > 0 && strchr(" \t\r\n", line[length - 1]))
            line[--length] = '\0';
        if ((size_t)length <= from || line[from] == '#')
            continue;
        memmove(line, line + from, (size_t)length - from + 1);
        return line;
    }
    free(line);
    return NULL;
}

/* An exit status. A second URL is refused, because choosing one would be a guess. */
static int read_lines(FILE *file, const char *path, char **out)
{
    size_t number = 0, first;
    char *more;

    *out = next_line(file, &number);
    first = number;
    more = *out ? next_line(file, &number) : NULL;
    if (more) {
        message("'%s' contains a second URL in line %zu (the first is in line %zu): keep one, and "
                "make the other a comment with #",
                path, number, first);
        free(more);
        return STATUS_USAGE;
    }
    if (*out && strlen(*out) <= URL_MAX)
        return STATUS_OK;
    message(*out ? "the URL in '%s' is too long" : "'%s' does not contain a URL", path);
    return STATUS_USAGE;
}

static int check_file(int fd, const char *path)
{
    struct stat is;

    if (fstat(fd, &is) || S_ISDIR(is.st_mode)) {
        message("'%s' is not a regular file", path);
        return STATUS_USAGE;
    }
    switch (rowlock__secret_file(&is)) {
    case ROWLOCK_SECRET_SAFE:
        return STATUS_OK;
    case ROWLOCK_SECRET_FOREIGN:
        message("'%s' belongs to another user: it must belong to this user or to root", path);
        return STATUS_USAGE;
    case ROWLOCK_SECRET_OPEN:
        break;
    }
    message("'%s' may hold a password, and others can read or change it; run: chmod 600 '%s' (of a "
            "file of root's a group may read it: chown root:GROUP and chmod 640)",
            path, path);
    return STATUS_USAGE;
}

static int read_file(int fd, const char *path, char **out)
{
    FILE *file = fdopen(fd, "r");
    int status;

    if (!file) {
        close(fd);
        return out_of_memory();
    }
    status = read_lines(file, path, out);
    fclose(file);
    if (status) {
        free(*out);
        *out = NULL;
    }
    return status;
}

/* A file that must be there (it was named), or may. */
static int try_file(const char *path, int must, char **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), status;

    if (fd < 0 && !must && (errno == ENOENT || errno == ENOTDIR))
        return STATUS_OK;
    if (fd < 0) {
        message("cannot read '%s': %s%s", path, strerror(errno),
                errno == EACCES
                    ? "; it must be this user's own, mode 600, or root's and of a group "
                      "of this user's, mode 640"
                    : "");
        return STATUS_USAGE;
    }
    status = check_file(fd, path);
    if (!status)
        return read_file(fd, path, out);
    close(fd);
    return status;
}

/* The path of the source is one from any working directory, because the file may be read again. */
static int try_files(struct url *out)
{
    const char *named = environment("ROWLOCK_URL_FILE");
    int status = refuse_empty("ROWLOCK_URL_FILE", "the name of a file");
    char *folder;

    if (status)
        return status;
    if (named) {
        folder = *named == '/' ? NULL : getcwd(NULL, 0);
        out->source = folder ? rowlock__join(folder, "/", named) : strdup(named);
        free(folder);
    } else {
        out->source = home_path("XDG_CONFIG_HOME", ".config", "rowlock/url");
    }
    status = out->source ? try_file(out->source, named != NULL, &out->text) : STATUS_OK;
    if (named || status || out->text)
        return status;
    free(out->source);
    out->source = strdup(SYSTEM_FILE);
    return try_file(SYSTEM_FILE, 0, &out->text);
}

int url_read_again(const struct url *url, char **out, char *why, size_t size)
{
    int is_from_file = url->source && *url->source == '/', status = STATUS_OK;
    char *text = NULL;

    *why = '\0';
    if (url_is_file(url))
        return -1;
    if (!is_from_file) {
        snprintf(why, size,
                 "the URL is that of %s, which is not read again: if the login has "
                 "changed, restart this program with another URL, or put it in a file",
                 url->source ? url->source : "the caller");
        return -1;
    }
    message_keep(why, size);
    status = try_file(url->source, 1, &text);
    message_keep(NULL, 0);
    if (status)
        return -1;
    *out = text;
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Without a named database: uses this user's own file, unless the machine forbids it. A file that
   access() cannot check counts as existing. */
static int set_default(struct url *out)
{
    const char *value = environment("ROWLOCK_REQUIRE_URL"), *why = NULL;

    if (value && strcmp(value, "0") != 0)
        why = "ROWLOCK_REQUIRE_URL is set";
    else if (access(REQUIRE_FILE, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR))
        why = "the file " REQUIRE_FILE " requires one";
    free(out->source);
    out->source = NULL;
    out->by_default = 1;
    if (!why)
        return set_local(out);
    message(
        "no database was named, and %s: name one (--db, ROWLOCK_URL, ROWLOCK_URL_FILE, " SYSTEM_FILE
        "), or 'local' if this machine is all there is",
        why);
    return STATUS_USAGE;
}

int url_lookup(const char *db, struct url *out)
{
    const char *said = db ? db : environment("ROWLOCK_URL");
    int status = db ? STATUS_OK : refuse_empty("ROWLOCK_URL", "a URL, or to 'local'");

    *out = (struct url){0};
    if (status)
        return status;
    if (said &&
        (!(out->text = strdup(said)) || !(out->source = strdup(db ? "--db" : "ROWLOCK_URL"))))
        return out_of_memory();
    if (!said)
        status = try_files(out);
    if (status)
        return status;
    if (!out->text)
        return set_default(out);
    if (strcmp(out->text, "local") != 0)
        return STATUS_OK;
    free(out->text);
    out->text = NULL;
    return set_local(out);
}

/* The value of an option (?name=value&... or ;name=value;...); "": none. */
static const char *option_value(const char *url, const char *name, size_t *length)
{
    const char *at = url + strcspn(url, "?;");
    size_t n = strlen(name);

    for (; *at; at += strcspn(at, "&;")) {
        at++;
        if (strncasecmp(at, name, n) != 0 || at[n] != '=')
            continue;
        *length = strcspn(at + n + 1, "&;");
        return at + n + 1;
    }
    *length = 0;
    return "";
}

/* Whether the options that name a server, a database or a schema are the same in both URLs. */
static int has_same_options(const char *a, const char *b)
{
    static const char *const names[] = {"host",         "hostaddr",     "port",     "dbname",
                                        "service",      "socket",       "database", "servername",
                                        "instancename", "schema",       "catalog",  "portnumber",
                                        "databasename", "currentschema"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t left, right;
        const char *value = option_value(a, names[i], &left);
        const char *other = option_value(b, names[i], &right);

        if (left != right || memcmp(value, other, left) != 0)
            return 0;
    }
    return 1;
}

/* Other options, the user and its password do not make another database. */
char *url_overridden(const struct url *url)
{
    struct url other = {0};
    char errors[1024], left[400], right[400], *path = NULL;
    int is_same;

    if (!url->source || strcmp(url->source, "ROWLOCK_URL") != 0)
        return NULL;
    message_keep(errors, sizeof errors); /* a file that does not count may be unusable */
    if (try_files(&other) == STATUS_OK && other.text) {
        url_place(url, left, sizeof left);
        url_place(&other, right, sizeof right);
        is_same = strcmp(url->text, other.text) == 0 ||
                  (url->is_local && strcmp(other.text, "local") == 0) ||
                  (*left && !strstr(left, "...") && strcmp(left, right) == 0 &&
                   has_same_options(url->text, other.text));
        if (!is_same)
            path = strdup(other.source);
    }
    message_keep(NULL, 0);
    url_free(&other);
    return path;
}

int refuse_default(const struct command *command, const struct url *url)
{
    if (!url->by_default)
        return STATUS_OK;
    message(
        "%s: no database was named: every machine would use its own file, and their locks "
        "would not exclude each other; name the farm's database (--db, ROWLOCK_URL), or 'local' "
        "if there is only this machine",
        command->verb->name);
    return STATUS_USAGE;
}

void url_free(struct url *url)
{
    free(url->text);
    free(url->source);
    *url = (struct url){0};
}

/* ---- what may be shown ----------------------------------------------------------------------- */

/* host:port, several of them with commas, IPv6 in brackets; a port is digits. */
static int is_authority(const char *from, const char *to)
{
    int in_port = 0, in_brackets = 0;

    for (; from < to; from++) {
        if (*from == '[' || *from == ']')
            in_brackets = *from == '[';
        else if (!in_brackets && (*from == ':' || *from == ','))
            in_port = *from == ':';
        else if (in_port && (*from < '0' || *from > '9'))
            return 0;
    }
    return 1;
}

/* The scheme is the text before "://", such as "jdbc:h2:tcp". If that might hold an account
   (jdbc:oracle:thin:user/password@...), only the part before the first colon. */
void url_place(const struct url *url, char *out, size_t size)
{
    const char *rest = strstr(url->text, "://"), *at, *end, *options = "?", *path = "/?";
    size_t plain = strspn(url->text, "abcdefghijklmnopqrstuvwxyz0123456789+-.:");
    int has_account = !rest || plain < (size_t)(rest - url->text);
    int scheme = (int)(has_account ? strcspn(url->text, ":") : (size_t)(rest - url->text));

    out[0] = '\0';
    if (strncmp(url->text, "sqlite:", strlen("sqlite:")) == 0)
        snprintf(out, size, "%.*s", (int)strcspn(url->text, "?"), url->text);
    if (strncmp(url->text, "odbc:", 5) == 0) /* any of its settings may be a secret */
        snprintf(out, size, "odbc:...");
    if (!rest || out[0])
        return;
    if (strncmp(url->text, "jdbc:", 5) == 0) { /* jdbc:derby://host/database;password=... */
        options = "?;(";
        path = "/?;(";
    }
    rest += 3;
    at = strrchr(rest, '@');
    end = rest + strcspn(rest, options);
    if (at)
        rest = at + 1;
    if (rest > end || !is_authority(rest, rest + strcspn(rest, path)))
        snprintf(out, size, "%.*s://...", scheme, url->text);
    else
        snprintf(out, size, "%.*s://%.*s", scheme, url->text, (int)(end - rest), rest);
}

const char *url_dialect(const struct url *url)
{
    static const struct {
        const char *scheme, *dialect;
    } dialects[] = {{"sqlite:", "sqlite"},
                    {"postgresql:", "postgresql"},
                    {"postgres:", "postgresql"},
                    {"mariadb:", "mariadb"},
                    {"mysql:", "mysql"}};

    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (strncmp(url->text, dialects[i].scheme, strlen(dialects[i].scheme)) == 0)
            return dialects[i].dialect;
    return NULL;
}

int url_is_file(const struct url *url)
{
    const char *dialect = url_dialect(url);

    return dialect && strcmp(dialect, "sqlite") == 0;
}

/* ---- to another program of ours -------------------------------------------------------------- */

/* The reader does not exist yet, so a write to a full pipe must fail instead of blocking. */
int url_send(const struct url *url)
{
    const char *source = url->source ? url->source : "";
    struct iovec parts[] = {{url->text, strlen(url->text) + 1}, {(char *)source, strlen(source)}};
    ssize_t length = (ssize_t)(parts[0].iov_len + parts[1].iov_len);
    int pair[2];

    if (rowlock__pipe(pair))
        return -1;
    if (fcntl(pair[1], F_SETFL, O_NONBLOCK) || writev(pair[1], parts, 2) != length) {
        close(pair[0]);
        pair[0] = -1;
    }
    close(pair[1]);
    return pair[0];
}

struct url url_receive(int fd)
{
    char text[2 * URL_MAX + 2];
    struct url url = {0};
    size_t n = 0, length;
    ssize_t got;

    while (n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    close(fd);
    text[n] = '\0';
    length = strlen(text);
    url.text = strdup(text);
    if (length < n && text[length + 1])
        url.source = strdup(text + length + 1);
    rowlock__wipe(text, n);
    return url;
}
