/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the user and the password from the environment, for a URL that names none. */
#include "driver/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/bytes.h"
#include "util/error.h"
#include "util/secret_file.h"

enum { MOST = 1024, LEAST_HIDDEN = 3 };

static int refuse(const char *path, const char *reason, struct rowlock_error *error)
{
    return rowlock__fail(error, ROWLOCK_EDENIED, "ROWLOCK_PASSWORD_FILE '%s': %s", path, reason);
}

static int check_file(int fd, const char *path, struct rowlock_error *error)
{
    enum rowlock_secret_file safety;
    struct stat is;

    if (fstat(fd, &is) != 0)
        return refuse(path, strerror(errno), error);
    if (S_ISDIR(is.st_mode))
        return refuse(path, "is a directory", error);
    safety = S_ISREG(is.st_mode) ? rowlock__secret_file(&is) : ROWLOCK_SECRET_SAFE;
    if (safety == ROWLOCK_SECRET_FOREIGN)
        return refuse(path, "belongs to another user; it must belong to this user or to root",
                      error);
    if (safety == ROWLOCK_SECRET_OPEN)
        return rowlock__fail(error, ROWLOCK_EDENIED,
                             "others can read or change the password file '%s'; run: chmod 600 "
                             "'%s'",
                             path, path);
    return ROWLOCK_OK;
}

static int read_line(int fd, const char *path, char *line, struct rowlock_error *error)
{
    size_t length = 0;
    ssize_t got;

    while (length < MOST && (got = read(fd, line + length, MOST - length)) != 0) {
        if (got < 0 && errno != EINTR)
            return refuse(path, strerror(errno), error);
        if (got > 0)
            length += (size_t)got;
    }
    if (length == MOST)
        return refuse(path, "is too long for a password", error);
    line[length] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return ROWLOCK_OK;
}

static int read_password(const char *path, char **out, struct rowlock_error *error)
{
    char line[MOST + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC), code;

    if (fd < 0)
        return refuse(path, strerror(errno), error);
    code = check_file(fd, path, error);
    if (!code)
        code = read_line(fd, path, line, error);
    close(fd);
    if (!code && !(*out = strdup(line)))
        code = rowlock__no_memory(error);
    rowlock__wipe(line, sizeof line);
    return code;
}

int rowlock__credentials(struct rowlock_credentials *out, struct rowlock_error *error)
{
    const char *user = getenv("ROWLOCK_USER"), *path = getenv("ROWLOCK_PASSWORD_FILE");
    struct rowlock_credentials found = {NULL, NULL};
    int code = ROWLOCK_OK;

    if (user && *user && !(found.user = strdup(user)))
        return rowlock__no_memory(error);
    if (path && *path)
        code = read_password(path, &found.password, error);
    if (code)
        rowlock__credentials_free(&found);
    else
        *out = found;
    return code;
}

void rowlock__credentials_free(struct rowlock_credentials *credentials)
{
    if (credentials->password)
        rowlock__wipe(credentials->password, strlen(credentials->password));
    free(credentials->password);
    free(credentials->user);
    *credentials = (struct rowlock_credentials){NULL, NULL};
}

void rowlock__hide_password(char *text, const char *password, size_t length)
{
    const char *end = text + strlen(text);

    if (!password || length < LEAST_HIDDEN)
        return;
    for (char *at = text; (size_t)(end - at) >= length; at++)
        if (memcmp(at, password, length) == 0)
            memset(at, '*', length);
}
