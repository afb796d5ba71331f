/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/page.h"

#include <string.h>

#include "show/serve/html.h"

#define OLD_MS 5000 /* older data is marked, because the pages ask every 2 s */

static const struct {
    const char *path, *title;
    enum tab tab;
} tabs[] = {{"/", "Overview", TAB_OVERVIEW},
            {"/locks", "Locks", TAB_LOCKS},
            {"/jobs", "Jobs", TAB_JOBS},
            {"/subjects", "Subjects", TAB_SUBJECTS},
            {"/history", "History", TAB_HISTORY}};

/* ---- the head -------------------------------------------------------------------------------- */

static void put_head(const struct page *page, const char *kind, const char *subject)
{
    FILE *out = page->out;

    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>", out);
    if (subject) {
        html_text(out, subject);
        fputs(" - ", out);
    }
    html_text(out, kind);
    fputs(" - rowlock</title>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n"
          "<link rel=\"stylesheet\" href=\"/style.css\">\n"
          "<script src=\"/script.js\" defer></script>\n"
          "<noscript><meta http-equiv=\"refresh\" content=\"30\"></noscript>\n"
          "</head>\n",
          out);
}

/* The field is hidden until script.js shows it. It needs script.js, because the policy of the pages
   allows no forms. */
static void put_filter(const struct page *page, enum tab tab)
{
    if (page->status != 200 || tab < TAB_LOCKS || *page->name)
        return;
    fputs("<div class=\"filter\" id=\"filter\" hidden><label for=\"q\" class=\"unseen\">Filter"
          "</label><input id=\"q\" type=\"search\" placeholder=\"Filter\" autocomplete=\"off\" "
          "spellcheck=\"false\" maxlength=\"80\" value=\"",
          page->out);
    html_text(page->out, page->filter);
    fputs("\"></div>\n", page->out);
}

static void put_navigation(const struct page *page, enum tab tab)
{
    FILE *out = page->out;

    fputs("<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header><div "
          "class=\"bar\">\n"
          "<a class=\"brand\" href=\"/\"><img src=\"/icon.svg\" alt=\"\" width=\"22\" "
          "height=\"22\">rowlock</a>\n<nav aria-label=\"Pages\">",
          out);
    for (size_t i = 0; i < sizeof tabs / sizeof *tabs; i++)
        fprintf(out, "<a href=\"%s\"%s>%s</a>", tabs[i].path,
                tabs[i].tab == tab ? " aria-current=\"page\"" : "", tabs[i].title);
    fputs("</nav>\n", out);
    put_filter(page, tab);
    fputs("</div></header>\n<p class=\"banner\" id=\"away\" role=\"alert\" hidden>This page cannot "
          "reach rowlock serve. It shows the last state, and tries again.</p>\n",
          out);
}

/* ---- the age of the data --------------------------------------------------------------------- */

static void put_age(const struct page *page)
{
    const struct shown *shown = page->shown;
    int old = shown->code || shown->age_ms > OLD_MS;

    if (!shown->all)
        return;
    fprintf(page->out, "<p class=\"fresh%s\"><span class=\"dot\"></span>%s", old ? " old" : "",
            old ? "Old, of " : "Live, ");
    html_clock(page->out, shown->now_ms - shown->age_ms);
    fputs("</p>\n", page->out);
}

static void put_banner(const struct page *page)
{
    const struct shown *shown = page->shown;
    FILE *out = page->out;

    if (!shown->code && shown->age_ms <= OLD_MS)
        return;
    fputs("<p class=\"banner\" id=\"old\">", out);
    if (shown->all) {
        fputs("This data is <strong>", out);
        html_duration(out, 1, shown->age_ms);
        fputs("</strong> old: ", out);
    }
    fprintf(out, "%s.", shown->code ? outage_text(shown->code) : "the database is slow to answer");
    if (shown->code) {
        fputs(" <span class=\"why\">", page->out);
        html_word(page->out, page->shown->why);
        fputs("</span>", page->out);
    }
    fputs(" rowlock tries again every few seconds.</p>\n", out);
}

void page_begin(const struct page *page, enum tab tab, const char *kind, const char *subject)
{
    FILE *out = page->out;

    put_head(page, kind, subject);
    put_navigation(page, tab);
    fprintf(out, "<main id=\"main\" tabindex=\"-1\"%s>\n",
            page->status == 200 || page->status == 503 ? " data-refresh" : "");
    if (page->shown)
        put_banner(page);
    fputs("<div class=\"top\"><h1>", out);
    if (subject) {
        fputs("<span class=\"kind\">", out);
        html_text(out, kind);
        fputs("</span> ", out);
    }
    html_word(out, subject ? subject : kind);
    fputs("</h1>\n", out);
    if (page->shown)
        put_age(page);
    fputs("</div>\n", out);
}

void page_end(const struct page *page)
{
    FILE *out = page->out;

    fputs("</main>\n<footer>", out);
    fprintf(out, "rowlock %.*s", (int)strcspn(rowlock_version(), " "), rowlock_version());
    if (*database_place()) {
        fputs(" &middot; ", out);
        html_word(out, database_place());
    }
    fputs(" &middot; <a href=\"/metrics\">Metrics</a> &middot; <a href=\"/api/ls.json\">Locks</a>, "
          "<a href=\"/api/jobs.json\">jobs</a>, <a href=\"/api/subjects.json\">subjects</a> and "
          "<a href=\"/api/log.json\">history</a> as JSON</footer>\n</body>\n</html>\n",
          out);
}

/* ---- parts ----------------------------------------------------------------------------------- */

void page_section(const struct page *page, const char *id, const char *title, long count)
{
    fprintf(page->out, "<section aria-labelledby=\"%s\"><h2 id=\"%s\">%s", id, id, title);
    if (count >= 0)
        fprintf(page->out, " <span class=\"count\">%ld</span>", count);
    fputs("</h2>\n", page->out);
}

void page_section_end(const struct page *page)
{
    fputs("</section>\n", page->out);
}

void page_empty(const struct page *page, const char *html)
{
    fprintf(page->out, "<p class=\"empty\">%s</p>\n", html);
}

void page_not_read(const struct page *page)
{
    const char *why = page->shown->detail_why;

    if (!*why) {
        page_empty(page, "The history was not read before the database went away.");
        return;
    }
    fputs("<p class=\"empty\">The history cannot be read: ", page->out);
    html_word(page->out, why);
    fputs("</p>\n", page->out);
}

void page_cut(const struct page *page, size_t n, size_t most, const char *document)
{
    if (n > most)
        fprintf(page->out,
                "<p class=\"more\">%zu more are not shown. <a href=\"%s\">All of them</a></p>\n",
                n - most, document);
}

void page_document(const struct page *page, const char *document)
{
    fprintf(page->out, "<p class=\"more\"><a href=\"%s?name=", document);
    html_encoded(page->out, page->name);
    fputs("\">JSON</a></p>\n", page->out);
}

int page_matches(const struct page *page, const char *const *texts)
{
    if (!*page->filter)
        return 1;
    for (; *texts; texts++)
        if (strcasestr(*texts, page->filter))
            return 1;
    return 0;
}

/* The pages for requests that cannot be answered. */

void page_no_data(struct page *page)
{
    page->status = 503;
    page_begin(page, TAB_NONE, "No data yet", NULL);
    page_empty(page, "The database has not answered since rowlock serve started. This page shows "
                     "the state as soon as it does. <code>rowlock doctor</code> examines the "
                     "connection.");
    page_end(page);
}

void page_error(struct page *page, int status, const char *title, const char *advice)
{
    page->status = status;
    page_begin(page, TAB_NONE, title, NULL);
    page_empty(page, advice);
    page_end(page);
}
