/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a file as a whole: a reader sees either the old file or the new one. */
#ifndef ROWLOCK_OUTPUT_FILE_H
#define ROWLOCK_OUTPUT_FILE_H

#include <stdio.h>

/* Writes the output of `write` to the file. Returns the exit status that `write` returns, or that
   of a failure to write, after a message. The umask decides who can read the file. Follows a
   symbolic link; refuses a device, a pipe or a folder (STATUS_USAGE). */
int replace_file(const char *path, int (*write)(FILE *out, void *data), void *data);

#endif
