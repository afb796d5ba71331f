/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a bar for each clone: its states, from left to right, with colours or as letters. Prints
   the result of an act in words, in the table of counts, and as JSON. */
#include <inttypes.h>

#include "command/command.h"
#include "command/output/json.h"
#include "demo/clones.h"

#define SPAN_MS 1800 /* the picture shows at least this time plus a ttl */
#define WIDTH 44
#define WIDTH_LEAST 12
#define BESIDE 34 /* columns left and right of the bar */

#define BOLD "\033[1m"
#define GREEN "\033[1;32m"
#define RED "\033[1;31m"
#define YELLOW "\033[1;33m"

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

/* An event in JSON, and its effect on a clone's bar: the cells after it, a mark at its time, a
   word. */
static const struct {
    const char *name;
    enum cell after, mark;
    const char *word; /* NULL: the previous word stays */
} events_of[] = {
    [CLONES_READY] = {"ready", WAITS, NOTHING, "waits"},
    [CLONES_SKIPPED] = {"skipped", WAITS, NOTHING, "not its turn"},
    [CLONES_CLAIMED] = {"claimed", SENDS, NOTHING, "claims it"},
    [CLONES_SENDING] = {"sending", SENDS, NOTHING, "sends"},
    [CLONES_SENT] = {"sent", WAITS, MAIL, "mail sent"},
    [CLONES_KILLED] = {"killed", NOTHING, KILLED, "killed -9"},
    [CLONES_FROZEN] = {"frozen", FROZEN, NOTHING, "frozen"},
    [CLONES_WOKEN] = {"woken", SENDS, NOTHING, "wakes up"},
    [CLONES_REFUSED] = {"refused", WAITS, REFUSED, "late write refused"},
    [CLONES_LOST] = {"lost", WAITS, NOTHING, NULL},
    [CLONES_FINISHED] = {"finished", WAITS, NOTHING, NULL},
};

const struct clones_item *clones_find(const struct clones_act *act, int clone,
                                      enum clones_event event)
{
    for (size_t i = act->n; i-- > 0;)
        if ((clone < 0 || act->events[i].clone == clone) && act->events[i].event == event)
            return &act->events[i];
    return NULL;
}

/* ---- the picture ----------------------------------------------------------------------------- */

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

/* Draws the marks last, so that later cells do not cover them. */
static void make_bar(struct bar *bar, const struct scale *scale, const struct clones_act *act,
                     int clone, int64_t now_ms)
{
    enum cell now = NOTHING, marks[WIDTH] = {NOTHING};
    int at = 0, sent = 0;

    *bar = (struct bar){.word = ""};
    for (size_t i = 0; i < act->n; i++) {
        const struct clones_item *item = &act->events[i];
        int to = column(scale, item->at_ms);
        int is_surplus = item->event == CLONES_SENT && sent++ > 0;

        if (item->clone != clone)
            continue;
        while (at < to)
            bar->cell[at++] = now;
        now = events_of[item->event].after;
        if (events_of[item->event].word)
            bar->word = is_surplus ? "the same mail again" : events_of[item->event].word;
        if (events_of[item->event].mark)
            marks[to] = is_surplus ? SURPLUS : events_of[item->event].mark;
    }
    while (at <= column(scale, now_ms))
        bar->cell[at++] = now;
    for (at = 0; at < scale->width; at++)
        if (marks[at])
            bar->cell[at] = marks[at];
}

/* A picture can be drawn over only if no line of it wraps. */
int clones_can_be_live(void)
{
    size_t columns = terminal_columns();

    return terminal_is_coloured() && (columns == 0 || columns >= BESIDE + WIDTH_LEAST);
}

void clones_draw(const struct clones_act *act, int64_t now_ms, int coloured, int again)
{
    int columns = (int)terminal_columns(), width = columns ? columns - BESIDE : WIDTH;
    struct scale scale = {.from_ms = act->began_ms,
                          .span_ms = SPAN_MS + act->farm->ttl_ms,
                          .width = width > WIDTH         ? WIDTH
                                   : width < WIDTH_LEAST ? WIDTH_LEAST
                                                         : width};
    struct bar bar;

    if (again)
        printf("\033[%dA", CLONES);
    if (now_ms - scale.from_ms > scale.span_ms)
        scale.span_ms = now_ms - scale.from_ms;
    for (int clone = 0; clone < CLONES; clone++) {
        make_bar(&bar, &scale, act, clone, now_ms);
        printf("   clone %d  ", clone + 1);
        for (int i = 0; i < scale.width; i++) {
            enum cell cell = bar.cell[i];

            if (coloured && (i == 0 || cell != bar.cell[i - 1]))
                printf("\033[0m%s", cells[cell].colour);
            putchar(coloured ? cells[cell].coloured : cells[cell].plain);
        }
        printf("%s  %s%s\n", coloured ? "\033[0m" : "", bar.word, coloured ? "\033[K" : "");
    }
    fflush(stdout);
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

/* ---- words and numbers ----------------------------------------------------------------------- */

void clones_print_outcome(const struct clones_act *act, int coloured)
{
    const struct clones_counts *counts = &act->counts;
    const struct clones_item *killed = clones_find(act, -1, CLONES_KILLED),
                             *frozen = clones_find(act, -1, CLONES_FROZEN),
                             *heir = clones_find(act, -1, CLONES_CLAIMED),
                             *sent = clones_find(act, -1, CLONES_SENT);
    int well = counts->sent == counts->due && !counts->twice;

    printf("   %s%d mail%s sent, %d due%s: ",
           !coloured ? ""
           : well    ? GREEN
                     : RED,
           counts->sent, counts->sent == 1 ? "" : "s", counts->due, coloured ? "\033[0m" : "");
    if (!act->script->locked)
        printf("no clone knew of the others");
    else if (killed && heir)
        printf("clone %d took over %.1f s after clone %d was killed", heir->clone + 1,
               (double)(heir->at_ms - killed->at_ms) / 1000, killed->clone + 1);
    else if (frozen && heir)
        printf("clone %d took over; the late write of clone %d was %s", heir->clone + 1,
               frozen->clone + 1, clones_find(act, -1, CLONES_REFUSED) ? "refused" : "let through");
    else if (sent)
        printf("clone %d sent it, the others had nothing to do", sent->clone + 1);
    puts("\n");
}

static void print_number(int number, int width, const char *colour, int coloured)
{
    if (coloured && number)
        printf("%s%*d\033[0m", colour, width, number);
    else
        printf("%*d", width, number);
}

void clones_print_counts(const struct clones_act *acts, int n, int coloured)
{
    printf("%s   %-24s%6s%6s%8s%22s%s\n", coloured ? BOLD : "", "", "due", "sent", "twice",
           "late writes refused", coloured ? "\033[0m" : "");
    for (int i = 0; i < n; i++) {
        const struct clones_counts *counts = &acts[i].counts;

        printf("   %-24s%6d", acts[i].script->name, counts->due);
        print_number(counts->sent, 6, counts->sent == counts->due ? GREEN : RED, coloured);
        print_number(counts->twice, 8, RED, coloured);
        print_number(counts->refused, 22, YELLOW, coloured);
        putchar('\n');
    }
}

void clones_print_json(const struct clones_act *act, int64_t start_ms)
{
    for (size_t i = 0; i < act->n; i++) {
        const struct clones_item *item = &act->events[i];

        printf("{\"t_ms\":%" PRId64 ",\"act\":%d,\"clone\":%d,\"event\":\"%s\",\"token\":",
               item->at_ms - start_ms, act->farm->act, item->clone + 1,
               events_of[item->event].name);
        json_number(stdout, item->token);
        puts("}");
    }
    printf("{\"act\":%d,\"event\":\"counts\",\"due\":%d,\"sent\":%d,\"twice\":%d,"
           "\"late_refused\":%d,\"runs\":%d,\"lost\":%d}\n",
           act->farm->act, act->counts.due, act->counts.sent, act->counts.twice,
           act->counts.refused, act->counts.runs, act->counts.lost);
    fflush(stdout);
}
