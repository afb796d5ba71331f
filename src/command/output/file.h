/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a file as a whole: a reader sees the old one or the new one. */
#ifndef ROWLOCK_OUTPUT_FILE_H
#define ROWLOCK_OUTPUT_FILE_H

#include <stdio.h>

/* Writes what `write` prints, whose result is an exit status; returns it, or that of a failure to
   write, after a message. The umask decides who can read the file. A symbolic link is followed; a
   device, a pipe or a folder is refused (STATUS_USAGE). */
int replace_file(const char *path, int (*write)(FILE *out, void *data), void *data);

#endif
