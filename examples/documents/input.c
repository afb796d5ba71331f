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

#define ROOM (DOCUMENT_BODY_MAX + 1) /* for the text of any document */
#define FOLDERS_OPEN 64              /* descriptors of nftw; deeper trees take more time */

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

static enum input read_file(const char *path, char *text, size_t *length)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO must not block */
    ssize_t n = fd < 0 ? -1 : 1;
    struct stat status;
    int failure = errno;

    if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
        failure = EINVAL;
        n = -1;
    }
    for (*length = 0; n > 0 && *length < ROOM; *length += (size_t)n) {
        while ((n = read(fd, text + *length, ROOM - *length)) < 0 && errno == EINTR)
            ;
        failure = errno;
        if (n < 0)
            break;
    }
    if (fd >= 0)
        close(fd);
    errno = failure;
    return n < 0 ? INPUT_FAILED : *length == ROOM ? INPUT_REFUSED : INPUT_OK;
}

bool reader_open(struct reader *reader, const struct inputs *inputs)
{
    const struct options *o = inputs->options;

    *reader = (struct reader){.inputs = inputs,
                              .extractor = extractor_new(o->id_element, o->time_element),
                              .text = malloc(ROOM)};
    return reader->extractor && reader->text;
}

void reader_close(struct reader *reader)
{
    extractor_free(reader->extractor);
    free(reader->text);
}

enum input reader_read(const struct reader *reader, uint64_t number, struct document *document,
                       char reason[DOCUMENT_REASON])
{
    const struct inputs *inputs = reader->inputs;
    enum input result = INPUT_OK;
    size_t length;

    if (inputs->paths)
        result = read_file(inputs->paths[number], reader->text, &length);
    else
        length = generate(inputs->options, number, reader->text);
    if (result == INPUT_FAILED)
        snprintf(reason, DOCUMENT_REASON, "%s", strerror(errno));
    else if (result == INPUT_REFUSED)
        snprintf(reason, DOCUMENT_REASON, "longer than %zu MiB", DOCUMENT_BODY_MAX >> 20);
    else if (extract(reader->extractor, reader->text, length, document, reason))
        result = INPUT_REFUSED;
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
