/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads the system's time zone files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schedule/zone.h"
#include "util/error.h"

#define FILE_MAX 65536 /* the largest zone has 4 KiB */

static const char *const folders[] = {"/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                      "/usr/share/lib/zoneinfo"};
#define FOLDERS (sizeof folders / sizeof *folders)

/* The folders to search: `i` from 0; NULL ends the list. */
static const char *folder_at(size_t i)
{
    const char *own = getenv("TZDIR");

    if (own && *own)
        return i == 0 ? own : NULL;
    return i < FOLDERS ? folders[i] : NULL;
}

/* Allows no '.', so a name cannot leave the folder. */
static int is_name(const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || length > ROWLOCK_ZONE_NAME_MAX)
        return 0;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        int inside = i > 0 && i + 1 < length && name[i - 1] != '/';

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '+' || c == '-' || (c == '/' && inside)))
            return 0;
    }
    return 1;
}

/* The file's size, or -1 with errno. 0 for anything but a regular file. */
static ssize_t read_all(int fd, unsigned char *bytes, size_t size)
{
    size_t got = 0;
    struct stat status;

    if (fstat(fd, &status) != 0)
        return -1;
    if (!S_ISREG(status.st_mode))
        return 0;
    while (got < size) {
        ssize_t n = read(fd, bytes + got, size - got);

        if (n < 0 && errno != EINTR)
            return -1;
        if (n == 0)
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)got;
}

/* O_NONBLOCK: a pipe of that name must not block the caller. */
static ssize_t read_file(const char *path, unsigned char *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), code;
    ssize_t got;

    if (fd < 0)
        return -1;
    got = read_all(fd, bytes, size);
    code = errno;
    close(fd);
    errno = code;
    return got;
}

/* The file's size; `path` is its path. -1: not found (errno is 0), or unreadable. */
static ssize_t find(const char *name, char path[PATH_MAX], unsigned char *bytes)
{
    for (size_t i = 0; folder_at(i); i++) {
        ssize_t got;

        if (snprintf(path, PATH_MAX, "%s/%s", folder_at(i), name) >= PATH_MAX)
            continue;
        got = read_file(path, bytes, FILE_MAX);
        if (got >= 0 || (errno != ENOENT && errno != ENOTDIR))
            return got;
    }
    errno = 0;
    return -1;
}

static int open_file(const char *name, unsigned char *bytes, struct rowlock_zone **out,
                     struct rowlock_error *error)
{
    char path[PATH_MAX], looked[300];
    const char *what = NULL;
    ssize_t size = find(name, path, bytes);
    struct rowlock_zone *zone;

    if (size < 0 && errno == 0) {
        size_t length = 0;

        for (size_t i = 0; folder_at(i) && length < sizeof looked; i++)
            length += (size_t)snprintf(looked + length, sizeof looked - length, "%s%s",
                                       i > 0 ? ", " : "", folder_at(i));
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "time zone %s is unknown: searched in %s. Capitals matter, as in "
                             "Europe/Berlin; is the package tzdata installed?",
                             name, looked);
    }
    if (size < 0)
        return rowlock__fail(error, ROWLOCK_EINVAL, "time zone %s: %s: %s", name, path,
                             strerror(errno));
    if (size == FILE_MAX)
        return rowlock__fail(error, ROWLOCK_EINVAL, "time zone %s: %s is too large for one", name,
                             path);
    zone = rowlock__tzif_read(bytes, (size_t)size, &what);
    if (!zone)
        return rowlock__fail(error, ROWLOCK_EINVAL, "time zone %s: %s %s", name, path, what);
    memcpy(zone->name, name, strlen(name) + 1);
    *out = zone;
    return ROWLOCK_OK;
}

/* A zone without a file: UTC, or an offset from it, as in +05:30. */
static int is_fixed(const char *name, int32_t *offset)
{
    static const char form[] = "+29:59"; /* the largest of each character */

    *offset = 0;
    if (strcmp(name, "UTC") == 0)
        return 1;
    if (strlen(name) != strlen(form) || (name[0] != '+' && name[0] != '-') || name[3] != ':')
        return 0;
    for (size_t i = 1; form[i]; i++)
        if (i != 3 && (name[i] < '0' || name[i] > form[i]))
            return 0;
    *offset = (int32_t)(strtol(name + 1, NULL, 10) * 3600 + strtol(name + 4, NULL, 10) * 60);
    if (name[0] == '-')
        *offset = -*offset;
    return *offset <= ROWLOCK_ZONE_OFFSET_MAX && *offset >= -ROWLOCK_ZONE_OFFSET_MAX;
}

int rowlock__zone_open(const char *name, struct rowlock_zone **out, struct rowlock_error *error)
{
    struct rowlock_zone *zone;
    unsigned char *bytes;
    int32_t offset;
    int code;

    if (is_fixed(name, &offset)) {
        zone = calloc(1, sizeof *zone);
        if (!zone)
            return rowlock__no_memory(error);
        memcpy(zone->name, name, strlen(name) + 1);
        zone->offset_before = offset;
        *out = zone;
        return ROWLOCK_OK;
    }
    if (!is_name(name))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "\"%s\" is not a time zone name: allowed are letters, digits, _, +, - "
                             "and /, %d at most, as in Europe/Berlin; or an offset, as in +05:30, "
                             "26:00 at most",
                             name, ROWLOCK_ZONE_NAME_MAX);
    bytes = malloc(FILE_MAX);
    if (!bytes)
        return rowlock__no_memory(error);
    code = open_file(name, bytes, out, error);
    free(bytes);
    return code;
}
