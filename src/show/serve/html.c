/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/html.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/output/json.h"
#include "command/output/table.h"
#include "show/log/log.h"
#include "util/calendar.h"
#include "util/clock.h"

void html_text(FILE *out, const char *text)
{
    char *visible = cell_text(text);

    markup_text(out, visible ? visible : "?");
    free(visible);
}

void html_word(FILE *out, const char *text)
{
    fputs("<bdi>", out);
    html_text(out, text);
    fputs("</bdi>", out);
}

void html_code(FILE *out, const char *text)
{
    fputs("<code>", out);
    html_word(out, text);
    fputs("</code>", out);
}

void html_lines(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = strndup(text, length);

        html_text(out, line ? line : "?");
        putc('\n', out);
        free(line);
        text += length + (text[length] == '\n');
    }
}

void html_encoded(FILE *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

    for (; *text; text++)
        if (strchr(plain, *text))
            putc(*text, out);
        else
            fprintf(out, "%%%02X", (unsigned char)*text);
}

void html_link(FILE *out, const char *address, const char *name)
{
    fprintf(out, "<a class=\"name\" href=\"%s", address);
    html_encoded(out, name);
    fputs("\">", out);
    html_word(out, name);
    fputs("</a>", out);
}

void html_pill(FILE *out, const char *tone, const char *text)
{
    fprintf(out, "<span class=\"pill %s\">", tone);
    html_text(out, text);
    fputs("</span>", out);
}

void html_none(FILE *out)
{
    fputs("<span class=\"none dash\">-</span>", out);
}

/* ---- times ----------------------------------------------------------------------------------- */

void html_duration(FILE *out, int is, int64_t ms)
{
    char *text = is ? cell_duration(ms) : NULL;

    if (is)
        fputs(text ? text : "?", out);
    else
        html_none(out);
    free(text);
}

static int begin_time(FILE *out, int64_t at_ms)
{
    char utc[UTC_INSTANT_SIZE], local[ROWLOCK_INSTANT_SIZE];

    if (at_ms <= 0 || at_ms == INT64_MAX || utc_instant(at_ms, utc, sizeof utc)) {
        html_none(out);
        return 0;
    }
    rowlock__local_time(at_ms, local, sizeof local);
    fprintf(out, "<time datetime=\"%s\" title=\"%s\">", utc, local);
    return 1;
}

static void put_time(FILE *out, int64_t at_ms, const char *before, int64_t ms, const char *after)
{
    if (!begin_time(out, at_ms))
        return;
    fputs(before, out);
    html_duration(out, 1, ms);
    fprintf(out, "%s</time>", after);
}

void html_age(FILE *out, int64_t at_ms, int64_t now_ms)
{
    put_time(out, at_ms, "", rowlock__between(at_ms, now_ms), "");
}

void html_left(FILE *out, int64_t at_ms, int64_t now_ms)
{
    put_time(out, at_ms, "", rowlock__between(now_ms, at_ms), "");
}

void html_since(FILE *out, int64_t at_ms, int64_t now_ms)
{
    if (at_ms > now_ms)
        put_time(out, at_ms, "in ", rowlock__between(now_ms, at_ms), "");
    else
        put_time(out, at_ms, "", rowlock__between(at_ms, now_ms), " ago");
}

void html_next(FILE *out, int64_t at_ms, int64_t now_ms)
{
    fputs(at_ms > 0 && at_ms <= now_ms ? "due " : "", out);
    html_since(out, at_ms, now_ms);
}

void html_clock(FILE *out, int64_t at_ms)
{
    char text[ROWLOCK_INSTANT_SIZE];

    if (!begin_time(out, at_ms))
        return;
    rowlock__local_time_short(at_ms, (int64_t)time(NULL) * 1000, text, sizeof text);
    fprintf(out, "%s</time>", text);
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct html_table html_table_begin(FILE *page, int *failed, const char *caption)
{
    return (struct html_table){.page = page, .out = page, .failed = failed, .caption = caption};
}

/* Sets the ARIA roles, so that the table keeps its meaning where the style sheet turns rows into
   cards. */
static void begin_head(struct html_table *table)
{
    fprintf(table->page,
            "<div class=\"scroll\"><table role=\"table\"><caption class=\"unseen\">%s</caption>\n"
            "<thead role=\"rowgroup\"><tr role=\"row\">",
            table->caption);
    table->out = open_memstream(&table->first, &table->size);
    if (!table->out) {
        table->out = table->page;
        *table->failed = 1;
    }
}

static void end_head(struct html_table *table)
{
    fputs("</tr></thead>\n<tbody role=\"rowgroup\">", table->page);
    if (table->out != table->page) {
        if (fclose(table->out) == 0 && table->first)
            fputs(table->first, table->page);
        else
            *table->failed = 1;
    }
    free(table->first);
    table->out = table->page;
}

static void end_cell(struct html_table *table)
{
    fputs(table->in_cell ? "</div></td>" : "", table->out);
    table->in_cell = 0;
}

static void end_row(struct html_table *table)
{
    if (table->n == 0)
        return;
    end_cell(table);
    fputs("</tr>", table->out);
    if (table->n == 1)
        end_head(table);
}

void html_row(struct html_table *table)
{
    end_row(table);
    if (table->n++ == 0)
        begin_head(table);
    fputs("\n<tr role=\"row\">", table->out);
}

FILE *html_cell(struct html_table *table, const char *title)
{
    const char *class = *title == '*' ? " class=\"number\"" : "";

    title += *title == '*';
    end_cell(table);
    table->in_cell = 1;
    if (table->n == 1)
        fprintf(table->page, "<th scope=\"col\" role=\"columnheader\"%s>%s</th>", class, title);
    fprintf(table->out, "<td role=\"cell\" data-label=\"%s\"%s><div>", title, class);
    return table->out;
}

void html_table_end(struct html_table *table)
{
    end_row(table);
    fputs(table->n ? "</tbody></table></div>\n" : "", table->page);
}
