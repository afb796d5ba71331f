/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file without blocking, and closes it unless it is regular: a FIFO must not block. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "document.h"

static bool grow(struct input *input, size_t room)
{
    char *text;

    if (room <= input->room)
        return true;
    text = realloc(input->text, room);
    if (!text)
        return false;
    input->text = text;
    input->room = room;
    return true;
}

static enum input_result read_all(struct input *input, int fd)
{
    for (;;) {
        ssize_t n;

        if (input->length > DOCUMENT_BODY_MAX)
            return INPUT_TOO_LONG;
        if (input->length == input->room && !grow(input, input->room * 2))
            return INPUT_FAILED;
        n = read(fd, input->text + input->length, input->room - input->length);
        if (n == 0)
            return INPUT_OK;
        if (n < 0 && errno != EINTR)
            return INPUT_FAILED;
        if (n > 0)
            input->length += (size_t)n;
    }
}

static enum input_result read_file(struct input *input, int fd)
{
    struct stat status;

    if (fstat(fd, &status))
        return INPUT_FAILED;
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        return INPUT_FAILED;
    }
    if (status.st_size > (off_t)DOCUMENT_BODY_MAX)
        return INPUT_TOO_LONG;
    /* one byte more, so that the end of the file is seen without growing */
    if (!grow(input, status.st_size < 16384 ? 16384 : (size_t)status.st_size + 1))
        return INPUT_FAILED;
    return read_all(input, fd);
}

enum input_result input_load(struct input *input, const char *path, uint64_t number)
{
    enum input_result result;
    int fd, saved;

    input->length = 0;
    if (!*path) {
        if (!grow(input, GENERATE_MAX))
            return INPUT_FAILED;
        input->length = generate(input->generator, number, input->text);
        return INPUT_OK;
    }
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return INPUT_FAILED;
    result = read_file(input, fd);
    saved = errno;
    close(fd);
    errno = saved;
    return result;
}

void input_free(struct input *input)
{
    free(input->text);
    input->text = NULL;
    input->length = input->room = 0;
}
