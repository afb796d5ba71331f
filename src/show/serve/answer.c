/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command/exit_status.h"
#include "command/output/json.h"
#include "show/metrics/metrics.h"
#include "show/serve/page.h"
#include "util/bytes.h"
#include "util/glob.h"
#include "util/utf8.h"

#define OLD_MS 5000 /* a script gets an error instead of data that is older */

struct route {
    const char *path;
    enum view_kind detail; /* the view that it needs if the question has a name */
    int needs_name;        /* without a name the answer is 400 */
    void (*page)(struct page *page);
    enum view_text text; /* a document: which verb's JSON it is */
    const char *type;    /* content type of a file, which has the name of the path, or document */
    int is_metrics;
};

#define HTML "text/html; charset=utf-8"
#define JSON "application/json"
#define METRICS "text/plain; version=0.0.4; charset=utf-8"

static const struct route routes[] = {
    {"/", VIEW_ALL, 0, page_overview, 0, HTML, 0},
    {"/locks", VIEW_ALL, 0, page_locks, 0, HTML, 0},
    {"/lock", VIEW_NAME, 1, page_lock, 0, HTML, 0},
    {"/jobs", VIEW_ALL, 0, page_jobs, 0, HTML, 0},
    {"/job", VIEW_JOB, 1, page_job, 0, HTML, 0},
    {"/subjects", VIEW_ALL, 0, page_subjects, 0, HTML, 0},
    {"/history", VIEW_LOG, 0, page_history, 0, HTML, 0},
    {"/timeline.svg", VIEW_LOG, 0, NULL, 0, "image/svg+xml", 0},
    {"/metrics", VIEW_ALL, 0, NULL, 0, METRICS, 1},
    {"/api/ls.json", VIEW_NAME, 0, NULL, TEXT_LS, JSON, 0},
    {"/api/jobs.json", VIEW_JOB, 0, NULL, TEXT_JOBS, JSON, 0},
    {"/api/subjects.json", VIEW_SUBJECT, 0, NULL, TEXT_SUBJECTS, JSON, 0},
    {"/api/log.json", VIEW_LOG, 0, NULL, TEXT_LOG, JSON, 0},
    {"/style.css", VIEW_KINDS, 0, NULL, 0, "text/css; charset=utf-8", 0},
    {"/script.js", VIEW_KINDS, 0, NULL, 0, "text/javascript; charset=utf-8", 0},
    {"/icon.svg", VIEW_KINDS, 0, NULL, 0, "image/svg+xml", 0},
};

const struct route *answer_route(const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(routes[i].path, path) == 0)
            return &routes[i];
    return NULL;
}

/* Whether a name is missing, or the pattern of the metrics is malformed. */
static int is_bad(const struct question *question)
{
    const struct route *route = question->route;

    return (route->needs_name && !*question->name) ||
           (route->is_metrics && rowlock__glob_mistake(question->name));
}

int answer_needs_views(const struct question *question)
{
    const struct route *route = question->route;

    return route->detail != VIEW_KINDS && !is_bad(question);
}

enum view_kind answer_detail(const struct question *question, int may_probe)
{
    const struct route *route = question->route;

    if (route->page == page_lock && !may_probe)
        return VIEW_LOG;
    return *question->name || route->detail == VIEW_LOG ? route->detail : VIEW_ALL;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void write_page(struct page *page, void (*put)(struct page *page), struct answer *out)
{
    page->out = open_memstream(&out->body, &out->size);
    page->status = 200;
    page->failed = &out->failed;
    out->type = HTML;
    if (!page->out)
        return;
    put(page);
    out->status = (unsigned)page->status;
    if (fclose(page->out) || out->failed) {
        free(out->body);
        out->body = NULL;
    }
}

static const struct {
    unsigned status;
    const char *title, *advice;
} errors[] = {
    {400, "Bad request",
     "The address is malformed. A name is 1 to 255 bytes of UTF-8, percent-encoded: "
     "<code>/lock?name=NAME</code>, <code>/job?name=NAME</code>. Of <code>/metrics</code> it is a "
     "pattern, in which a <code>[</code> needs a <code>]</code>, or a <code>\\</code> before it."},
    {404, "Not found", "There is no such page. <a href=\"/\">Overview</a>"},
    {405, "Method not allowed",
     "These pages can only be read: GET and HEAD. To change a lock or a job, use the command: "
     "<code>rowlock break</code>, <code>rowlock hold</code>, <code>rowlock jobs NAME "
     "--now</code>."},
    {413, "Request too large", "A request has no body."},
    {414, "Address too long", "An address has at most 32 parameters, of which two have a meaning."},
    {421, "Wrong host",
     "rowlock serve listens on this machine only, and the request names another host: use "
     "<code>localhost</code> or <code>127.0.0.1</code>. A proxy before it must send "
     "<code>Host: localhost</code>, or use <code>--listen unix:PATH</code>."},
    {503, "Too many readers", "Other clients are still reading large answers. Try again."},
};

void answer_error(unsigned status, struct answer *out)
{
    struct page page = {.name = "", .filter = ""};
    size_t i = 0;

    *out = (struct answer){.status = status, .type = HTML};
    while (errors[i].status != status)
        i++;
    page.out = open_memstream(&out->body, &out->size);
    if (!page.out)
        return;
    page_error(&page, (int)status, errors[i].title, errors[i].advice);
    if (fclose(page.out)) {
        free(out->body);
        out->body = NULL;
    }
}

/* ---- documents ------------------------------------------------------------------------------- */

static int is_current(const struct shown *shown)
{
    return shown->all && !shown->code && shown->age_ms <= OLD_MS;
}

static void write_unavailable(const struct shown *shown, struct answer *out)
{
    FILE *body = open_memstream(&out->body, &out->size);

    out->status = 503;
    if (!body)
        return;
    fputs("{\"error\":", body);
    json_text(body, *shown->why          ? shown->why
                    : *shown->detail_why ? shown->detail_why
                                         : "the database is slow to answer");
    fputs("}\n", body);
    fclose(body);
}

static void write_document(const struct question *question, const struct shown *shown,
                           struct answer *out)
{
    int is_detail = *question->name || question->route->detail == VIEW_LOG;
    const struct view *view = is_detail ? shown->detail : shown->all;
    const char *text = view ? view->texts[question->route->text] : NULL;

    if (!is_current(shown) || !text) {
        write_unavailable(shown, out);
        return;
    }
    out->body = (char *)(uintptr_t)text;
    out->size = strlen(text);
    out->is_static = 1;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static struct metrics *metrics_of(const struct view *view, const char *names)
{
    struct metrics *metrics = metrics_new(names);

    for (size_t i = 0; metrics && i < view->locks.n_items; i++)
        metrics_lock(&view->locks.items[i].holder, metrics);
    for (size_t i = 0; metrics && i < view->jobs.n; i++)
        metrics_job(&view->jobs.items.job[i], metrics);
    for (size_t i = 0; metrics && i < view->subjects.n; i++)
        metrics_subject(&view->subjects.items.subject[i], metrics);
    return metrics;
}

/* Writes what the verb prints: only rowlock_up 0 if the database does not answer. */
static void write_metrics(const struct question *question, const struct shown *shown,
                          struct answer *out)
{
    const struct view *view = shown->all;
    FILE *body = open_memstream(&out->body, &out->size);

    if (!body)
        return;
    if (is_current(shown))
        metrics_end(metrics_of(view, *question->name ? question->name : NULL), STATUS_OK,
                    view->done_ms - view->asked_ms, body);
    else
        metrics_end(NULL, STATUS_UNAVAILABLE, 0, body);
    fclose(body);
}

/* ---- the timeline ---------------------------------------------------------------------------- */

static void write_timeline(const struct shown *shown, struct answer *out)
{
    FILE *body = open_memstream(&out->body, &out->size);

    out->is_styled = 1;
    if (!body)
        return;
    if (shown->detail)
        history_draw(body, shown->detail, shown->now_ms);
    else
        out->status = 503;
    fclose(body);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void copy_asset(const struct question *question, struct answer *out)
{
    for (const struct asset *asset = serve_assets; asset->name; asset++)
        if (strcmp(asset->name, question->route->path + 1) == 0) {
            out->body = (char *)(uintptr_t)asset->data;
            out->size = asset->size;
            out->is_static = 1;
        }
}

void answer_write(const struct question *question, const struct shown *shown, struct answer *out)
{
    const struct route *route = question->route;
    struct page page = {.shown = shown, .name = question->name, .filter = question->filter};

    *out = (struct answer){.status = 200, .type = route->type};
    if (is_bad(question))
        answer_error(400, out);
    else if (!shown)
        copy_asset(question, out);
    else if (route->page)
        write_page(&page, shown->all ? route->page : page_no_data, out);
    else if (route->is_metrics)
        write_metrics(question, shown, out);
    else if (strcmp(route->path, "/timeline.svg") == 0)
        write_timeline(shown, out);
    else
        write_document(question, shown, out);
}

int request_decode(const char *text, char *out, size_t size)
{
    size_t n = 0;

    for (; text && *text; text++) {
        int byte = (unsigned char)*text;

        if (byte == '%') {
            byte = rowlock__hex_byte(text + 1);
            if (byte < 0)
                return -1;
            text += 2;
        }
        if (byte == 0 || n + 1 >= size)
            return -1;
        out[n++] = (char)byte;
    }
    out[n] = '\0';
    return rowlock__utf8_length(out, n) < 0 ? -1 : 0;
}

/* Whether the host looks like an address of 127.0.0.0/8: it begins with "127." and has digits and
   dots only. */
static int is_loopback(const char *host, size_t length)
{
    return length >= strlen("127.0.0.1") && strncmp(host, "127.", 4) == 0 &&
           strspn(host, "0123456789.") == length;
}

int request_host_is_local(const char *host)
{
    size_t length;

    if (!host)
        return 0;
    if (strncmp(host, "[::1]", 5) == 0)
        return host[5] == '\0' || host[5] == ':';
    length = strcspn(host, ":");
    return (length == strlen("localhost") && strncasecmp(host, "localhost", length) == 0) ||
           is_loopback(host, length);
}
