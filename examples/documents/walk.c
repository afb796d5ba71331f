/* SPDX-License-Identifier: Apache-2.0 */
/* readdir() with a stack of open folders; fts(3) would hold whole folders in memory. */
#include "walk.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 200 /* folders open at once */

struct level {
    DIR *folder;
    size_t length; /* of its path */
};

struct walk {
    char *const *paths;
    char path[PATH_MAX];
    struct level levels[DEPTH_MAX];
    unsigned depth;
    uint64_t failures;
};

struct walk *walk_new(char *const *paths)
{
    struct walk *walk = calloc(1, sizeof *walk);

    if (walk)
        walk->paths = paths;
    return walk;
}

static void leave(struct walk *walk)
{
    closedir(walk->levels[--walk->depth].folder);
}

void walk_free(struct walk *walk)
{
    if (!walk)
        return;
    while (walk->depth)
        leave(walk);
    free(walk);
}

uint64_t walk_failures(const struct walk *walk)
{
    return walk->failures;
}

static void fail(struct walk *walk, const char *why)
{
    fprintf(stderr, "documents: %s: %s\n", walk->path, why);
    walk->failures++;
}

static void enter(struct walk *walk)
{
    struct level *level = &walk->levels[walk->depth];

    if (walk->depth == DEPTH_MAX) {
        fail(walk, "folders are nested too deeply");
        return;
    }
    level->folder = opendir(walk->path);
    if (!level->folder) {
        fail(walk, strerror(errno));
        return;
    }
    level->length = strlen(walk->path);
    walk->depth++;
}

static bool append(struct walk *walk, const struct level *level, const char *name)
{
    const char *slash = walk->path[level->length - 1] == '/' ? "" : "/";
    size_t room = sizeof walk->path - level->length;

    if ((size_t)snprintf(walk->path + level->length, room, "%s%s", slash, name) < room)
        return true;
    fail(walk, "path too long");
    return false;
}

static bool is_regular(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* True: walk->path is a file for the caller. */
static bool visit(struct walk *walk, const struct level *level, const struct dirent *entry)
{
    struct stat status;

    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
        !append(walk, level, entry->d_name))
        return false;
    if (entry->d_type == DT_REG)
        return true;
    if (lstat(walk->path, &status)) {
        fail(walk, strerror(errno));
        return false;
    }
    if (S_ISDIR(status.st_mode))
        enter(walk);
    return S_ISREG(status.st_mode) || (S_ISLNK(status.st_mode) && is_regular(walk->path));
}

/* The next of `paths`: itself, or its folder opened. */
static bool start(struct walk *walk)
{
    struct stat status;

    snprintf(walk->path, sizeof walk->path, "%s", *walk->paths++);
    if (stat(walk->path, &status) == 0 && S_ISDIR(status.st_mode)) {
        enter(walk);
        return false;
    }
    return true;
}

const char *walk_next(struct walk *walk)
{
    for (;;) {
        const struct level *level;
        const struct dirent *entry;

        if (!walk->depth) {
            if (!*walk->paths)
                return NULL;
            if (start(walk))
                return walk->path;
            continue;
        }
        level = &walk->levels[walk->depth - 1];
        errno = 0;
        entry = readdir(level->folder);
        if (entry) {
            if (visit(walk, level, entry))
                return walk->path;
            continue;
        }
        walk->path[level->length] = 0;
        if (errno)
            fail(walk, strerror(errno));
        leave(walk);
    }
}
