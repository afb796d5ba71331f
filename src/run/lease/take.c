/* SPDX-License-Identifier: Apache-2.0 */
/* Acquires a lease for the verbs acquire and hold, and prints its token. */
#include "run/lease/take.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/url_lookup.h"
#include "run/lease/argument.h"

/* A keeper changes its working directory, and may have to open the file again. The library refuses
   anything that is not a path. */
static int make_absolute(struct url *url)
{
    const char *path = url->text + strlen("sqlite:");
    char *folder, *text = NULL;

    if (strncmp(url->text, "sqlite:", strlen("sqlite:")) != 0 || strchr("/:", *path) ||
        strncmp(path, "file:", strlen("file:")) == 0)
        return STATUS_OK;
    folder = getcwd(NULL, 0);
    if (!folder || asprintf(&text, "sqlite:%s/%s", folder, path) < 0) {
        message("cannot determine the working directory");
        free(folder);
        return STATUS_FAILED;
    }
    free(folder);
    free(url->text);
    url->text = text;
    return STATUS_OK;
}

/* An exit status, or -N: signal N came. */
static int connect_to(struct taking *taking)
{
    struct approach approach = {.deadline_ms = taking->lock.deadline_ms,
                                .is_patient = taking->lock.wait_ms < 0,
                                .interrupt_fd = taking->interrupt_fd};
    int number;
    struct url url;
    int status = url_lookup(taking->command->db, &url), code = ROWLOCK_OK;

    if (!status)
        status = make_absolute(&url);
    if (!status && taking->verbose)
        report_overridden(&url);
    if (!status)
        status = connect_database(&url, &approach, &taking->holding.connection, &code);
    url_free(&url);
    if (status && (number = signals_next(taking->signals.wait_fd, NULL)))
        return -number; /* also if the attempt has failed */
    return status;
}

int take_lease(struct taking *taking)
{
    char *argv[] = {(char *)taking->holder, NULL};
    struct run run = {.lock = taking->lock,
                      .argv = argv,
                      .verbose = taking->verbose,
                      .no_process = !taking->is_kept};
    int status = connect_to(taking), acquired = 0;

    if (!status)
        status = acquire(&run, &taking->signals, &taking->holding, &acquired);
    if (acquired && signals_turn_to_command(&taking->signals)) {
        message("cannot create a file descriptor for signals");
        rowlock_release(taking->holding.lease, NULL);
        return STATUS_FAILED;
    }
    return status;
}

int print_token(struct taking *taking)
{
    const struct lock_options *lock = &taking->lock;
    struct rowlock_lease *lease = taking->holding.lease;

    if (taking->command->json)
        print_lease_json(
            lock->wants, lock->n, lease,
            lease_expires(taking->holding.connection, lock->wants[0].name, rowlock_token(lease)));
    else
        printf("%" PRId64 "\n", rowlock_token(lease));
    if (finish_output() == STATUS_OK)
        return STATUS_OK;
    rowlock_release(lease, NULL);
    message("the token could not be printed: the lease is released");
    return STATUS_FAILED;
}

int take_and_print(struct taking *taking)
{
    int status;

    if (signals_open(&taking->signals)) {
        message("cannot create a file descriptor for signals");
        return STATUS_FAILED;
    }
    taking->interrupt_fd = taking->signals.wait_fd;
    status = take_lease(taking);
    return taking->holding.lease && !status ? print_token(taking) : status;
}

int end_taking(struct taking *taking, int status)
{
    rowlock_lease_free(taking->holding.lease);
    rowlock_close(taking->holding.connection);
    free(taking->lock.wants);
    if (status < 0)
        die_by(-status);
    return status;
}
