/* SPDX-License-Identifier: Apache-2.0 */
/* The exit statuses that scripts rely on. */
#ifndef ROWLOCK_EXIT_STATUS_H
#define ROWLOCK_EXIT_STATUS_H

#include "rowlock.h"

/* Numbers of sysexits.h, of timeout(1) and of the shell; the manual pages promise them. */
enum status {
    STATUS_OK = 0,
    STATUS_ANSWER_IS_NO = 1,     /* of a verb that asks */
    STATUS_USAGE = 64,           /* the command line is wrong; nothing was done */
    STATUS_UNAVAILABLE = 69,     /* the database does not answer, or cannot be used */
    STATUS_NOT_ACQUIRED = 75,    /* the lock is held; -E chooses another number */
    STATUS_LOST = 123,           /* the lease ended before the command or the caller did */
    STATUS_TIME_OVER = 124,      /* the command exceeded its time limit */
    STATUS_FAILED = 125,         /* rowlock itself failed */
    STATUS_CANNOT_EXECUTE = 126, /* the command was found, but not executed */
    STATUS_NOT_FOUND = 127       /* the command was not found */
};

/* The exit status for a code of the library; STATUS_FAILED for one that has no other. */
int exit_status(int code);
/* Whether the database may answer soon: a caller that waits should try again. Any other error has a
   cause to remove, such as a newer schema. */
int is_outage(int code);
/* "the database does not answer", or "... cannot be used": the difference, for a message. */
const char *outage_text(int code);
/* Prints the library's error, and returns the exit status for it. If the database is unavailable,
   the message names it. */
int report(const struct rowlock_error *error);

#endif
