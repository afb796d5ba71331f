/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of `top`: its alternate screen, without echo and line editing. ^C and ^Z stay
   signals. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "show/top/top.h"

#define ENTER "\033[?1049h\033[?25l\033[2J" /* alternate screen, no cursor, clear */
#define LEAVE "\033[0m\033[?25h\033[?1049l"

static struct termios original;
static int is_open;

int screen_is_there(void)
{
    const char *terminal = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal && *terminal &&
           strcmp(terminal, "dumb") != 0;
}

static void put(const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t n = write(STDOUT_FILENO, text, left);

        if (n < 0)
            return; /* the terminal is gone; a signal reports that */
        text += n;
        left -= (size_t)n;
    }
}

int screen_open(void)
{
    static int is_registered;
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &original))
        return -1;
    raw = original;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (!is_registered++)
        atexit(screen_close);
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw))
        return -1;
    is_open = 1;
    put(ENTER);
    return 0;
}

void screen_close(void)
{
    if (!is_open)
        return;
    is_open = 0;
    put(LEAVE);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &original);
}

void screen_size(size_t *lines, size_t *columns)
{
    struct winsize size;
    int unknown = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col;

    *lines = unknown ? 24 : size.ws_row;
    *columns = unknown ? 80 : size.ws_col;
}

/* Overwrites line by line, because clearing the whole screen flickers. Clears a line before it
   writes the line: after a full line, some terminals would clear its last column. */
void screen_draw(const char *frame)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    fputs("\033[H\033[K", out);
    for (const char *at = frame; *at; at++)
        if (*at == '\n')
            fputs("\r\n\033[K", out);
        else
            putc(*at, out);
    fclose(out);
    if (text)
        put(text);
    free(text);
}
