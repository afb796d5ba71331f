/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a mail: waits for the mail server, then writes the mail, which counts as sent. With a lock
   it writes the mail in a transaction, under the fence. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "demo/clones.h"
#include "demo/demo_log.h"

#define WAIT_MS 20000

static int write_mail(const struct clones_farm *farm, int clone, struct rowlock_error *error)
{
    char line[64];
    int length = snprintf(line, sizeof line, "mail %d from clone %d\n", farm->act, clone + 1);
    int fd = open(farm->mails, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int done = fd >= 0 && write(fd, line, (size_t)length) == length;

    if (!done) {
        error->code = ROWLOCK_EDB;
        snprintf(error->text, sizeof error->text, "cannot write the mail to '%.300s': %s",
                 farm->mails, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return done ? ROWLOCK_OK : error->code;
}

/* Writes the mail under the fence, which refuses a sender that was suspended beyond the end of its
   lease. */
static int write_under_fence(const struct clones_farm *farm, int clone, int64_t token,
                             struct rowlock_connection *connection, struct rowlock_error *error)
{
    static const struct rowlock_want want = {.name = CLONES_NAME};
    int code = rowlock_begin(connection, &want, 1, WAIT_MS, error);

    if (code)
        return code;
    code = rowlock_fence(connection, farm->lock, token, error);
    if (code == ROWLOCK_ELOST)
        clones_tell(farm, clone, CLONES_REFUSED, token);
    if (!code)
        code = write_mail(farm, clone, error);
    if (code)
        rowlock_rollback(connection, NULL);
    else
        code = rowlock_commit(connection, error);
    return code;
}

/* 1: the mail server has taken it. */
static int await_server(const struct clones_farm *farm, int clone)
{
    char byte;
    ssize_t got;

    while ((got = read(farm->gate[clone][0], &byte, 1)) < 0 && errno == EINTR)
        ;
    return got == 1;
}

int clones_send(const struct clones_farm *farm, int clone, int64_t token)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    int code =
        *farm->job ? rowlock_open(farm->url, &DEMO_OPTIONS, &connection, &error) : ROWLOCK_OK;

    if (!code) {
        clones_tell(farm, clone, CLONES_SENDING, token);
        if (!await_server(farm, clone))
            code = ROWLOCK_ECANCELED;
        else if (*farm->job)
            code = write_under_fence(farm, clone, token, connection, &error);
        else
            code = write_mail(farm, clone, &error);
    }
    if (!code)
        clones_tell(farm, clone, CLONES_SENT, token);
    else if (code != ROWLOCK_ELOST && code != ROWLOCK_ECANCELED)
        clones_fail(farm, &error);
    rowlock_close(connection);
    return code;
}
