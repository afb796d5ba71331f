/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal on standard output, if any. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/output/output.h"

int terminal_is_coloured(void)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

size_t terminal_columns(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
