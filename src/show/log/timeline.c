/* SPDX-License-Identifier: Apache-2.0 */
#include "show/log/log.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/output/output.h"
#include "command/output/words.h"
#include "show/lists/lists.h"
#include "show/log/timeline_layout.h"
#include "util/calendar.h"
#include "util/clock.h"
#include "util/rows.h"
#include "util/utf8.h"

#define WIDTH 1000
#define LEFT 190 /* of the axis */
#define RIGHT 980
#define BREAK 30 /* width of compressed idle time */
#define TOP 74   /* of the first lane */
#define BAR 12
#define ROW 18          /* a bar and the space below it */
#define LANE 10         /* space around the rows of a lane */
#define LEGEND 54       /* below the lanes */
#define NAME_COLUMNS 23 /* each 7.2 wide at most: 0.62 of the font size */
#define THINNEST 2.0
#define TICK_SPACE 74

/* ---- what was added -------------------------------------------------------------------------- */

/* Four lines: "backup: held 2m05s, waited 3s,", "released; NOTE", "ended 2026-11-21 02:00:01
   +0100", "web3:812 backup". */
static char *text_of(const struct rowlock_past *past)
{
    char *held = cell_duration(rounded_ms(past->held_ms));
    char *waited = cell_duration(rounded_ms(past->waited_ms));
    char *holder = who_cell(past->host, past->pid, past->command), *text = NULL, ended[40];

    rowlock__local_time(past->ended_ms, ended, sizeof ended);
    if (held && waited && holder &&
        asprintf(&text, "%s: %s%s%s%s%s%s\n%s%s%s\nended %s\n%s", past->name,
                 past->acquired_ms ? "held " : "", past->acquired_ms ? held : "",
                 past->acquired_ms ? ", " : "", past->waited_ms ? "waited " : "",
                 past->waited_ms ? waited : "", past->waited_ms ? ", " : "", ending_word(past),
                 *past->note ? "; " : "", past->note, ended, holder) < 0)
        text = NULL;
    free(held);
    free(waited);
    free(holder);
    return text;
}

/* `ms`, or the nearer end of 0 to `most`. */
static int64_t limited(int64_t ms, int64_t most)
{
    return rowlock__most(0, rowlock__least(ms, most));
}

int timeline_add(struct timeline *timeline, const struct rowlock_past *past)
{
    int64_t to_ms = limited(past->ended_ms, timeline->now_ms);
    int64_t held_ms = past->acquired_ms ? limited(past->acquired_ms, to_ms) : to_ms;
    struct timeline_bar bar = {.from_ms = held_ms - limited(past->waited_ms, held_ms),
                               .held_ms = held_ms,
                               .to_ms = to_ms,
                               .is_run = past->ending == ROWLOCK_ENDED_RUN,
                               .is_problem = is_problem(past),
                               .gave_up = past->ending == ROWLOCK_ENDED_GAVE_UP};
    void *bars;

    if (past->ending == ROWLOCK_ENDED_DUE_NOW)
        return 0;
    bars = rowlock__grown(timeline->bars, timeline->n, &timeline->size, sizeof bar);
    if (!bars)
        return -1;
    timeline->bars = bars;
    bar.name = strdup(past->name);
    bar.text = text_of(past);
    if (!bar.name || !bar.text) {
        free(bar.name);
        free(bar.text);
        return -1;
    }
    timeline->bars[timeline->n++] = bar;
    return 0;
}

void timeline_free(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->n; i++) {
        free(timeline->bars[i].name);
        free(timeline->bars[i].text);
    }
    free(timeline->bars);
}

/* ---- text ------------------------------------------------------------------------------------ */

void markup_text(FILE *out, const char *text)
{
    static const char *const escapes[] = {"&&amp;", "<&lt;", ">&gt;", "\"&quot;", "'&#39;"};

    while (*text) {
        size_t n = rowlock__utf8_character(text, 4), i = 0; /* reads nothing after the end */
        /* XML allows no control characters, and neither U+FFFE nor U+FFFF. n is 0 if it is not
           UTF-8. */
        int is_allowed = n == 1 ? (unsigned char)*text >= ' ' || *text == '\n'
                                : n > 0 && (n != 3 || (memcmp(text, "\xef\xbf\xbe", 3) != 0 &&
                                                       memcmp(text, "\xef\xbf\xbf", 3) != 0));

        while (i < 5 && escapes[i][0] != *text)
            i++;
        if (i < 5)
            fputs(escapes[i] + 1, out);
        else if (is_allowed)
            fwrite(text, 1, n, out);
        else
            fputs("\xef\xbf\xbd", out);
        text += n ? n : 1;
    }
}

/* ---- the axis -------------------------------------------------------------------------------- */

struct labels {
    double last_x;
    char last_day[16];
    double top, bottom;
};

static void put_time(FILE *out, double x, double y, int before, const char *text)
{
    fprintf(out, "<text class=\"muted\" x=\"%.1f\" y=\"%.0f\"%s>%s</text>\n", x + (before ? -3 : 3),
            y, before ? " text-anchor=\"end\"" : "", text);
}

/* At the right edge the text is left of its line: it must not be cut off. */
static void put_label(FILE *out, struct labels *labels, double x, int64_t ms, int with_seconds)
{
    time_t seconds = (time_t)(ms / 1000);
    char day[16], clock[16];
    int before = x + TICK_SPACE > WIDTH;
    struct tm tm;

    fprintf(out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\"/>\n", x,
            labels->top, x, labels->bottom);
    if (x - labels->last_x < (before ? 2 * TICK_SPACE : TICK_SPACE) || !localtime_r(&seconds, &tm))
        return;
    strftime(day, sizeof day, "%Y-%m-%d", &tm);
    strftime(clock, sizeof clock, with_seconds ? "%H:%M:%S" : "%H:%M", &tm);
    put_time(out, x, labels->top - 6, before, clock);
    if (strcmp(day, labels->last_day) != 0)
        put_time(out, x, labels->top - 20, before, day);
    snprintf(labels->last_day, sizeof labels->last_day, "%s", day);
    labels->last_x = x;
}

/* At most one label per TICK_SPACE + 20, so that the number of ticks depends on the width alone. */
static int64_t step_of(const struct stretch *stretch)
{
    static const int64_t seconds[] = {1,     2,     5,     10,    15,     30,     60,
                                      120,   300,   600,   900,   1800,   3600,   7200,
                                      10800, 21600, 43200, 86400, 172800, 604800, 2592000};
    double ms_per_label = (double)(stretch->to_ms - stretch->from_ms) * (TICK_SPACE + 20) /
                          (stretch->to_x - stretch->from_x + 0.001);
    int64_t step_ms;
    size_t i = 0;

    while (i + 1 < sizeof seconds / sizeof *seconds && (double)seconds[i] * 1000 < ms_per_label)
        i++;
    step_ms = seconds[i] * 1000;
    while ((double)step_ms < ms_per_label)
        step_ms *= 2;
    return step_ms;
}

static void put_ticks(FILE *out, const struct layout *layout, const struct stretch *stretch,
                      struct labels *labels)
{
    time_t seconds = (time_t)(stretch->from_ms / 1000);
    int64_t step_ms = step_of(stretch), east_ms = 0, at_ms;
    struct tm tm;

    if (localtime_r(&seconds, &tm))
        east_ms = (int64_t)tm.tm_gmtoff * 1000;
    put_label(out, labels, stretch->from_x, stretch->from_ms, 1);
    at_ms = (stretch->from_ms + east_ms) / step_ms * step_ms - east_ms + step_ms;
    for (; at_ms < stretch->to_ms; at_ms += step_ms) {
        double x = layout_x(layout, at_ms);

        if (x - stretch->from_x > TICK_SPACE / 2.0)
            put_label(out, labels, x, at_ms, step_ms < 60000);
    }
}

/* Two slanted lines across all lanes, and the length of the idle time. */
static void put_break(FILE *out, const struct stretch *before, const struct stretch *after,
                      const struct labels *labels)
{
    double middle = (before->to_x + after->from_x) / 2;
    char *length = cell_duration(after->from_ms - before->to_ms);

    fprintf(out,
            "<g class=\"break\"><title>idle for %s</title>"
            "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\"/>"
            "<path d=\"M%.1f %.0fl6 -8M%.1f %.0fl6 -8M%.1f %.0fl6 -8M%.1f %.0fl6 -8\"/>"
            "<text class=\"small\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text></g>\n",
            length ? length : "", before->to_x, labels->top, after->from_x - before->to_x,
            labels->bottom - labels->top, middle - 5, labels->top + 4, middle - 1, labels->top + 4,
            middle - 5, labels->bottom + 4, middle - 1, labels->bottom + 4, middle,
            labels->bottom + 15, length ? length : "");
    free(length);
}

static void put_axis(FILE *out, const struct layout *layout, double bottom)
{
    struct labels labels = {.last_x = -WIDTH, .top = TOP, .bottom = bottom};

    for (size_t i = 0; i < layout->n_stretches; i++) {
        if (i)
            put_break(out, &layout->stretches[i - 1], &layout->stretches[i], &labels);
        put_ticks(out, layout, &layout->stretches[i], &labels);
    }
}

/* ---- bars ------------------------------------------------------------------------------------ */

static void put_rect(FILE *out, const char *class, double from, double to, double y, double radius)
{
    double width = to - from < THINNEST ? THINNEST : to - from;

    fprintf(out,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"%.0f\"/>",
            class, from, y, width, BAR, width < 2 * radius ? 1.0 : radius);
}

/* A cross at the end of a bar distinguishes problems without colours. */
static void put_cross(FILE *out, double x, double y)
{
    fprintf(out, "<path class=\"cross\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"/>", x - 4,
            y + BAR / 2 - 4.0);
}

static void put_bar(FILE *out, const struct layout *layout, const struct timeline_bar *bar,
                    double y)
{
    double from = layout_x(layout, bar->from_ms), held = layout_x(layout, bar->held_ms);
    double to = layout_x(layout, bar->to_ms);
    const char *class = bar->is_problem ? "lost" : bar->is_run ? "run" : "held";

    fputs("<g><title>", out);
    markup_text(out, bar->text);
    fputs("</title>", out);
    if (bar->from_ms < bar->held_ms)
        put_rect(out, bar->gave_up ? "wait gave" : "wait", from, held, y, 1);
    if (!bar->gave_up)
        put_rect(out, class, held, to, y, bar->is_run ? 6 : 1);
    if (bar->is_problem)
        put_cross(out, to, y);
    fputs("</g>\n", out);
}

static double lane_height(const struct lane *lane)
{
    return (double)(lane->rows * ROW) + LANE;
}

static void put_lanes(FILE *out, const struct layout *layout)
{
    double y = TOP;
    size_t bar = 0;

    for (size_t i = 0; i < layout->n_lanes; i++) {
        double height = lane_height(&layout->lanes[i]);
        char *name = cell_text(layout->lanes[i].name);

        fprintf(out, "<line class=\"line\" x1=\"10\" y1=\"%.0f\" x2=\"%d\" y2=\"%.0f\"/>\n",
                y + height, RIGHT + 10, y + height);
        fprintf(out, "<text class=\"name\" x=\"12\" y=\"%.0f\"><title>", y + height / 2 + 4);
        markup_text(out, layout->lanes[i].name);
        fputs("</title>", out);
        if (name) { /* as tables show it, cut to the room before the axis */
            cut_text(name, NAME_COLUMNS);
            markup_text(out, name);
            free(name);
        }
        fputs("</text>\n", out);
        for (; bar < layout->n && layout->bars[bar].lane == i; bar++)
            put_bar(out, layout, &layout->bars[bar],
                    y + (LANE + ROW - BAR) / 2.0 + (double)(layout->bars[bar].row * ROW));
        y += height;
    }
}

/* ---- the picture ----------------------------------------------------------------------------- */

#define DARK                                                                                  \
    "--bg:#12161c;--fg:#e6e9ee;--muted:#9aa4b0;--line:#2b323c;--idle:#1a2029;--held:#5b95f5;" \
    "--run:#35b597;--lost:#ff6b6b;--wait:#8b96a5"
#define LIGHT                                                                              \
    "--bg:#fff;--fg:#1b1f24;--muted:#5b6470;--line:#d9dee4;--idle:#f2f4f7;--held:#2f6fde;" \
    "--run:#178a73;--lost:#d1242f;--wait:#7b8794"

static const char style[] =
    "<style>svg.timeline{" LIGHT ";background:var(--bg)}\n"
    "@media (prefers-color-scheme:dark){svg.timeline{" DARK "}}\n"
    "@media print{svg.timeline{" LIGHT ";print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}}\n"
    ".timeline text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--fg)}"
    ".timeline .title{font-size:15px;font-weight:600}"
    /* of a fixed width, so that a cut name ends before the axis */
    ".timeline .name{font:11.5px ui-monospace,'SF Mono','DejaVu Sans Mono',Menlo,Consolas,"
    "monospace}"
    ".timeline .muted,.timeline .small{fill:var(--muted)}.timeline .small{font-size:10px}"
    ".timeline .paper{fill:var(--bg)}.timeline .line{stroke:var(--line)}"
    ".timeline .grid{stroke:var(--line);stroke-dasharray:2 3}"
    ".timeline .break rect{fill:var(--idle)}"
    ".timeline .break path{stroke:var(--muted);stroke-width:1.5;fill:none}"
    ".timeline .held{fill:var(--held)}.timeline .run{fill:var(--run)}"
    ".timeline .lost{fill:var(--lost)}"
    ".timeline .wait{fill:url(#waited);stroke:var(--wait);stroke-width:.8}"
    ".timeline .gave{stroke:var(--lost)}"
    ".timeline .hatch{stroke:var(--wait);stroke-width:1.6}"
    ".timeline .cross{stroke:var(--fg);stroke-width:2;fill:none}"
    ".timeline g:hover>rect{stroke:var(--fg);stroke-width:1}</style>\n"
    "<defs><pattern id=\"waited\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><line class=\"hatch\" x1=\"1\" y1=\"0\" x2=\"1\" "
    "y2=\"5\"/></pattern></defs>\n";

static void put_legend(FILE *out, double y)
{
    static const struct {
        const char *class, *text;
        int is_problem;
        double radius;
    } signs[] = {{"held", "held", 0, 1},
                 {"wait", "waited", 0, 1},
                 {"wait gave", "gave up", 1, 1},
                 {"lost", "lost: expired, broken or failed", 1, 1},
                 {"run", "run of a job", 0, 6}};
    double x = LEFT;

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        put_rect(out, signs[i].class, x, x + 26, y, signs[i].radius);
        if (signs[i].is_problem)
            put_cross(out, x + 26, y);
        fprintf(out, "<text class=\"muted\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", x + 36, y + 10,
                signs[i].text);
        x += 60 + 6.4 * (double)strlen(signs[i].text);
    }
}

static void put_title(FILE *out, const struct layout *layout)
{
    char from[40], to[40];
    int64_t to_ms = layout->n_stretches ? layout->stretches[layout->n_stretches - 1].to_ms : 0;

    rowlock__local_time(layout->stretches[0].from_ms, from, sizeof from);
    rowlock__local_time(to_ms, to, sizeof to);
    if (!layout->n) {
        fputs("<text class=\"title\" x=\"12\" y=\"26\">No lease has ended in this time</text>\n",
              out);
        return;
    }
    fprintf(out,
            "<text class=\"title\" x=\"12\" y=\"26\">Leases and runs</text>"
            "<text class=\"muted\" x=\"%d\" y=\"26\">%s to %s, %zu %s</text>\n",
            LEFT, from, to, layout->n, layout->n == 1 ? "entry" : "entries");
}

void timeline_draw(FILE *out, const struct timeline *timeline)
{
    struct layout layout;
    double bottom = TOP;

    if (layout_make(timeline, LEFT, RIGHT, BREAK, &layout))
        return;
    begin_width();
    for (size_t i = 0; i < layout.n_lanes; i++)
        bottom += lane_height(&layout.lanes[i]);
    if (!layout.n)
        bottom = 0;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" role=\"img\" "
            "viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
            "style=\"max-width:100%%;height:auto\">\n"
            "<title>Timeline of leases and runs</title>\n",
            WIDTH, bottom + LEGEND, WIDTH, bottom + LEGEND);
    fputs(style, out);
    fprintf(out, "<rect class=\"paper\" width=\"%d\" height=\"%.0f\"/>\n", WIDTH, bottom + LEGEND);
    put_title(out, &layout);
    if (layout.n) {
        put_axis(out, &layout, bottom);
        put_lanes(out, &layout);
        put_legend(out, bottom + 28);
    }
    fputs("</svg>\n", out);
    layout_free(&layout);
}
