/* SPDX-License-Identifier: Apache-2.0 */
/* The exit statuses that scripts rely on. */
#ifndef ROWLOCK_EXIT_STATUS_H
#define ROWLOCK_EXIT_STATUS_H

#include "rowlock.h"

enum status {
    STATUS_OK = 0,
    STATUS_ANSWER_IS_NO = 1, /* of a verb that asks */
    STATUS_USAGE = 64,
    STATUS_UNAVAILABLE = 69,
    STATUS_NOT_ACQUIRED = 75,
    STATUS_LOST = 123,
    STATUS_TIME_OVER = 124,
    STATUS_FAILED = 125,
    STATUS_CANNOT_EXECUTE = 126,
    STATUS_NOT_FOUND = 127
};

int exit_status(int code);
/* The database may answer soon. Any other error has a cause to remove, such as a newer schema. */
int is_outage(int code);
const char *outage_text(int code);
/* Prints the library's error, and returns the exit status for it. */
int report(const struct rowlock_error *error);

#endif
