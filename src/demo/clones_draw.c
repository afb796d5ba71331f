/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a bar for each clone: its states, from left to right, with colours or as letters. */

#include "command/command.h"
#include "demo/clones.h"

#define SPAN_MS 1800 /* the picture shows at least this time plus a ttl */
#define WIDTH 44
#define WIDTH_LEAST 12
#define BESIDE 34 /* columns left and right of the bar */

enum cell {
    NOTHING,
    WAITS,
    SENDS,
    FROZEN,
    MAIL,
    SURPLUS, /* a mail that had been sent before */
    KILLED,
    REFUSED
};

static const struct {
    char plain;
    char coloured; /* the letter on the colour */
    const char *colour, *meaning;
} cells[] = {
    [NOTHING] = {' ', ' ', "", NULL},
    [WAITS] = {'.', '.', "\033[2m", "waits"},
    [SENDS] = {'=', ' ', "\033[42m", "sends"},
    [MAIL] = {'M', 'M', "\033[1;30;47m", "mail gone"},
    [SURPLUS] = {'M', 'M', "\033[1;97;41m", NULL},
    [KILLED] = {'X', 'X', "\033[1;97;41m", "killed"},
    [FROZEN] = {'~', '~', "\033[97;44m", "frozen"},
    [REFUSED] = {'!', '!', "\033[1;30;43m", "late write refused"},
};

/* The effect of an event on a clone's bar: the cells after it, a mark at its time, a word. */
static const struct {
    enum cell after, mark;
    const char *word; /* NULL: the previous word stays */
} events_of[] = {
    [CLONES_READY] = {WAITS, NOTHING, "waits"},
    [CLONES_SKIPPED] = {WAITS, NOTHING, "not its turn"},
    [CLONES_CLAIMED] = {SENDS, NOTHING, "claims it"},
    [CLONES_SENDING] = {SENDS, NOTHING, "sends"},
    [CLONES_SENT] = {WAITS, MAIL, "mail sent"},
    [CLONES_KILLED] = {NOTHING, KILLED, "killed -9"},
    [CLONES_FROZEN] = {FROZEN, NOTHING, "frozen"},
    [CLONES_WOKEN] = {SENDS, NOTHING, "wakes up"},
    [CLONES_REFUSED] = {WAITS, REFUSED, "late write refused"},
    [CLONES_LOST] = {WAITS, NOTHING, NULL},
    [CLONES_FINISHED] = {WAITS, NOTHING, NULL},
};

struct bar {
    enum cell cell[WIDTH];
    const char *word;
};

struct scale {
    int64_t from_ms, span_ms;
    int width;
};

static int column(const struct scale *scale, int64_t at_ms)
{
    int64_t at = (at_ms - scale->from_ms) * (scale->width - 1) / scale->span_ms;

    return at < 0 ? 0 : at >= scale->width ? scale->width - 1 : (int)at;
}

static void fill(struct bar *bar, int from, int to, enum cell cell)
{
    for (int i = from; i < to; i++)
        bar->cell[i] = cell;
}

/* Whether another mail was sent before this one. */
static int is_surplus(const struct clones_item *const *events, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (events[i]->event == CLONES_SENT)
            return 1;
    return 0;
}

/* Draws the marks last, so that later cells do not cover them. */
static void make_bar(struct bar *bar, const struct scale *scale,
                     const struct clones_item *const *events, size_t n, int clone, int64_t now_ms)
{
    enum cell now = NOTHING;
    int at = 0;

    *bar = (struct bar){.word = ""};
    for (size_t i = 0; i < n; i++) {
        int to = column(scale, events[i]->at_ms);

        if (events[i]->clone != clone)
            continue;
        fill(bar, at, to, now);
        at = to > at ? to : at;
        now = events_of[events[i]->event].after;
        if (events_of[events[i]->event].word)
            bar->word = events_of[events[i]->event].word;
        if (events[i]->event == CLONES_SENT && is_surplus(events, i))
            bar->word = "the same mail again";
    }
    fill(bar, at, column(scale, now_ms) + 1, now);
    for (size_t i = 0; i < n; i++)
        if (events[i]->clone == clone && events_of[events[i]->event].mark)
            bar->cell[column(scale, events[i]->at_ms)] =
                events[i]->event == CLONES_SENT && is_surplus(events, i)
                    ? SURPLUS
                    : events_of[events[i]->event].mark;
}

static void print_cells(FILE *out, const struct bar *bar, int width, int coloured)
{
    for (int i = 0; i < width; i++) {
        enum cell cell = bar->cell[i];

        if (!coloured)
            putc(cells[cell].plain, out);
        else if (i > 0 && cell == bar->cell[i - 1])
            putc(cells[cell].coloured, out);
        else
            fprintf(out, "\033[0m%s%c", cells[cell].colour, cells[cell].coloured);
    }
    if (coloured)
        fputs("\033[0m", out);
}

static int bar_width(void)
{
    int columns = (int)terminal_columns(), width = columns ? columns - BESIDE : WIDTH;

    return width > WIDTH ? WIDTH : width < WIDTH_LEAST ? WIDTH_LEAST : width;
}

/* A picture can be drawn over only if no line of it wraps. */
int clones_can_be_live(void)
{
    size_t columns = terminal_columns();

    return terminal_is_coloured() && (columns == 0 || columns >= BESIDE + WIDTH_LEAST);
}

void clones_draw(FILE *out, const struct clones_act *act, int64_t now_ms, int coloured)
{
    const struct clones_item *events[CLONES_ITEMS];
    size_t n = clones_events(act->farm.log, events);
    struct scale scale = {act->began_ms, SPAN_MS + act->farm.ttl_ms, bar_width()};
    struct bar bar;

    if (now_ms - scale.from_ms > scale.span_ms)
        scale.span_ms = now_ms - scale.from_ms;
    for (int clone = 0; clone < CLONES; clone++) {
        make_bar(&bar, &scale, events, n, clone, now_ms);
        fprintf(out, "   clone %d  ", clone + 1);
        print_cells(out, &bar, scale.width, coloured);
        fprintf(out, "  %s%s\n", bar.word, coloured ? "\033[K" : "");
    }
}

void clones_print_legend(int coloured)
{
    putchar(' ');
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (cells[i].meaning && coloured)
            printf("  %s %c \033[0m %s", cells[i].colour, cells[i].coloured, cells[i].meaning);
        else if (cells[i].meaning)
            printf("  %c %s", cells[i].plain, cells[i].meaning);
    puts("\n");
}
