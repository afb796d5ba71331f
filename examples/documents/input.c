/* SPDX-License-Identifier: Apache-2.0 */
/* Where documents come from: files below some paths, or the generator. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "documents.h"

#define FOLDERS_OPEN 64 /* descriptors of nftw; deeper trees take more time */

static struct inputs *found; /* nftw gives its function no argument of the caller */

static bool add(const char *path)
{
    struct inputs *in = found;
    char *copy = strdup(path);

    if (copy && (in->count & (in->count - 1)) == 0) { /* full at each power of two */
        char **larger = realloc(in->paths, (in->count ? in->count * 2 : 1) * sizeof *larger);

        if (!larger) {
            free(copy);
            return false;
        }
        in->paths = larger;
    }
    if (copy)
        in->paths[in->count++] = copy;
    return copy != NULL;
}

/* Takes regular files, and whatever the user named. Links were followed, but no folder is entered
   twice. */
static int visit(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    if (kind == FTW_DNR || kind == FTW_NS) {
        fprintf(stderr, "documents: %s: cannot be read\n", path);
        found->incomplete = true;
    } else if (kind == FTW_F && (S_ISREG(status->st_mode) || at->level == 0)) {
        return add(path) ? 0 : -1;
    }
    return 0;
}

int inputs_find(struct inputs *inputs, const struct options *options)
{
    *inputs = (struct inputs){.options = options, .count = options->generate};
    found = inputs;
    for (char *const *path = options->paths; *path; path++)
        if (nftw(*path, visit, FOLDERS_OPEN, 0))
            return -1;
    return 0;
}

void inputs_free(struct inputs *inputs)
{
    for (uint64_t i = 0; inputs->paths && i < inputs->count; i++)
        free(inputs->paths[i]);
    free(inputs->paths);
}

static enum input_result read_all(int fd, char *text, size_t *length)
{
    struct stat status;

    if (fstat(fd, &status))
        return INPUT_FAILED;
    if (!S_ISREG(status.st_mode)) {
        errno = EINVAL;
        return INPUT_FAILED;
    }
    for (*length = 0; *length < INPUT_ROOM;) {
        ssize_t n = read(fd, text + *length, INPUT_ROOM - *length);

        if (n == 0)
            return INPUT_OK;
        if (n < 0 && errno != EINTR)
            return INPUT_FAILED;
        if (n > 0)
            *length += (size_t)n;
    }
    return INPUT_TOO_LONG;
}

enum input_result input_read(const struct inputs *inputs, uint64_t number, char *text,
                             size_t *length)
{
    enum input_result result;
    int fd, saved;

    if (!inputs->paths) {
        *length = generate(inputs->options, number, text);
        return INPUT_OK;
    }
    fd = open(inputs->paths[number], O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO must not block */
    if (fd < 0)
        return INPUT_FAILED;
    result = read_all(fd, text, length);
    saved = errno;
    close(fd);
    errno = saved;
    return result;
}

static void print_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        fprintf(out, c < 32 || c == 127 ? "\\x%02x" : "%c", c);
    }
}

void input_print(FILE *out, const struct inputs *inputs, uint64_t number, const char *between,
                 const char *reason)
{
    flockfile(out); /* lines of workers never mix */
    if (out == stderr)
        fputs("documents: ", out);
    if (inputs->paths)
        print_escaped(out, inputs->paths[number]);
    else
        fprintf(out, "generated document %" PRIu64, number);
    fputs(between, out);
    print_escaped(out, reason);
    putc('\n', out);
    fflush(out);
    funlockfile(out);
}
