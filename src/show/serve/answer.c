/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command/exit_status.h"
#include "command/output/json.h"
#include "show/lists/lists.h"
#include "show/log/log.h"
#include "show/metrics/metrics.h"
#include "util/bytes.h"
#include "util/glob.h"
#include "util/utf8.h"

#define OLD_MS 5000 /* a script gets an error instead of data that is older */

enum route_kind { ROUTE_FILE, ROUTE_OVERVIEW, ROUTE_DOCUMENT, ROUTE_TIMELINE, ROUTE_METRICS };

struct route {
    const char *path;
    enum route_kind kind;
    enum view_kind detail; /* the view that it needs if the question has a name */
    enum view_text text;   /* a document: which verb's JSON it is */
    const char *type;      /* content type */
    const char *file;      /* its name in assets */
};

#define HTML "text/html; charset=utf-8"
#define JSON "application/json"
#define METRICS "text/plain; version=0.0.4; charset=utf-8"
static const struct route routes[] = {
    {"/", ROUTE_FILE, VIEW_KINDS, 0, HTML, "index.html"},
    {"/locks", ROUTE_FILE, VIEW_KINDS, 0, HTML, "index.html"},
    {"/lock", ROUTE_FILE, VIEW_KINDS, 0, HTML, "index.html"},
    {"/jobs", ROUTE_FILE, VIEW_KINDS, 0, HTML, "index.html"},
    {"/job", ROUTE_FILE, VIEW_KINDS, 0, HTML, "index.html"},
    {"/subjects", ROUTE_FILE, VIEW_KINDS, 0, HTML, "index.html"},
    {"/history", ROUTE_FILE, VIEW_KINDS, 0, HTML, "index.html"},
    {"/timeline.svg", ROUTE_TIMELINE, VIEW_LOG, 0, "image/svg+xml", NULL},
    {"/metrics", ROUTE_METRICS, VIEW_ALL, 0, METRICS, NULL},
    {"/api/overview.json", ROUTE_OVERVIEW, VIEW_ALL, 0, JSON, NULL},
    {"/api/ls.json", ROUTE_DOCUMENT, VIEW_NAME, TEXT_LS, JSON, NULL},
    {"/api/jobs.json", ROUTE_DOCUMENT, VIEW_JOB, TEXT_JOBS, JSON, NULL},
    {"/api/subjects.json", ROUTE_DOCUMENT, VIEW_SUBJECT, TEXT_SUBJECTS, JSON, NULL},
    {"/api/log.json", ROUTE_DOCUMENT, VIEW_LOG, TEXT_LOG, JSON, NULL},
    {"/style.css", ROUTE_FILE, VIEW_KINDS, 0, "text/css; charset=utf-8", "style.css"},
    {"/script.js", ROUTE_FILE, VIEW_KINDS, 0, "text/javascript; charset=utf-8", "script.js"},
    {"/icon.svg", ROUTE_FILE, VIEW_KINDS, 0, "image/svg+xml", "icon.svg"},
};

const struct route *answer_route(const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(routes[i].path, path) == 0)
            return &routes[i];
    return NULL;
}

/* Whether the pattern of the metrics is malformed. */
static int is_bad(const struct question *question)
{
    return question->route->kind == ROUTE_METRICS && rowlock__glob_mistake(question->name);
}

int answer_needs_views(const struct question *question)
{
    return question->route->kind != ROUTE_FILE && !is_bad(question);
}

/* Whether a list of one name comes from the view of all names: the page must not lock it. */
static int is_from_all(const struct question *question)
{
    return question->route->detail == VIEW_NAME && *question->name && question->may_be_old &&
           !question->may_probe;
}

enum view_kind answer_detail(const struct question *question)
{
    const struct route *route = question->route;

    if (is_from_all(question))
        return VIEW_ALL;
    return *question->name || route->detail == VIEW_LOG ? route->detail : VIEW_ALL;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
    unsigned status;
    const char *text;
} errors[] = {
    {400, "the address is malformed: a name is 1 to 255 bytes of UTF-8, percent-encoded; that of "
          "/metrics is a pattern, in which a [ needs a ], or a \\ before it"},
    {404, "there is no such document"},
    {405, "the method is not allowed: documents can only be read, by GET and HEAD"},
    {413, "the request is too large"},
    {414, "the address is too long: it has at most 32 parameters, of which two have a meaning"},
    {421, "wrong host: rowlock serve listens on this machine only, and the request names another "
          "host; use localhost or 127.0.0.1; a proxy before it must send Host: localhost, or use "
          "--listen unix:PATH"},
    {503, "too many readers: other clients are still reading large answers; try again"},
};

void answer_text(unsigned status, const char *text, struct answer *out)
{
    FILE *body;

    *out = (struct answer){.status = status, .type = JSON, .age_s = -1};
    body = open_memstream(&out->body, &out->size);
    if (!body)
        return;
    fputs("{\"error\":", body);
    json_text(body, text);
    fputs("}\n", body);
    fclose(body);
}

void answer_error(unsigned status, struct answer *out)
{
    size_t i = 0;

    while (errors[i].status != status)
        i++;
    answer_text(status, errors[i].text, out);
}

static void copy_file(const char *name, struct answer *out)
{
    for (const struct asset *asset = serve_assets; asset->name; asset++)
        if (strcmp(asset->name, name) == 0) {
            out->body = (char *)(uintptr_t)asset->data;
            out->size = asset->size;
            out->is_static = 1;
        }
}

void answer_missing(const char *path, struct answer *out)
{
    if (strncmp(path, "/api/", strlen("/api/")) == 0) {
        answer_error(404, out);
        return;
    }
    *out = (struct answer){.status = 404, .type = HTML, .age_s = -1};
    copy_file("index.html", out);
}

/* ---- documents ------------------------------------------------------------------------------- */

static int is_current(const struct shown *shown)
{
    return shown->all && !shown->code && shown->age_ms <= OLD_MS;
}

static void write_unavailable(const struct shown *shown, struct answer *out)
{
    answer_text(503,
                *shown->why          ? shown->why
                : *shown->detail_why ? shown->detail_why
                                     : "the database is slow to answer",
                out);
}

/* The document of one name, from the view of all names. */
static void write_name(const struct question *question, const struct lock_tree *locks,
                       struct answer *out)
{
    FILE *body = open_memstream(&out->body, &out->size);
    const char *before = "[";

    if (!body)
        return;
    for (size_t i = 0; i < locks->n_items; i++)
        if (strcmp(locks->items[i].holder.name, question->name) == 0) {
            fputs(before, body);
            list_object(body, &holder_list, &locks->items[i].holder);
            before = ",\n";
        }
    fputs(*before == '[' ? "[]\n" : "]\n", body);
    fclose(body);
}

static void write_document(const struct question *question, const struct shown *shown,
                           struct answer *out)
{
    int is_all = answer_detail(question) == VIEW_ALL;
    const struct view *view = !is_all ? shown->detail : shown->all;
    const char *text = view ? view->texts[question->route->text] : NULL;

    if (!text || (!question->may_be_old && !is_current(shown))) {
        write_unavailable(shown, out);
        return;
    }
    if (question->may_be_old)
        out->age_s = shown->age_ms / 1000;
    if (is_from_all(question)) {
        write_name(question, &view->locks, out);
        return;
    }
    out->body = (char *)(uintptr_t)text;
    out->size = strlen(text);
    out->is_static = 1;
}

/* Whatever the age of the views: the document states it. */
static void write_overview(const struct shown *shown, struct answer *out)
{
    FILE *body;

    if (!shown->all) {
        write_unavailable(shown, out);
        return;
    }
    body = open_memstream(&out->body, &out->size);
    if (!body)
        return;
    if (overview_write(body, shown) | fclose(body)) {
        free(out->body);
        out->body = NULL;
    }
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* Writes what the verb prints: only rowlock_up 0 if the database does not answer. */
static void write_metrics(const struct question *question, const struct shown *shown,
                          struct answer *out)
{
    const struct view *view = shown->all;
    FILE *body = open_memstream(&out->body, &out->size);
    struct metrics *metrics;

    if (!body)
        return;
    if (is_current(shown)) {
        metrics = metrics_new(*question->name ? question->name : NULL);
        for (size_t i = 0; metrics && i < view->locks.n_items; i++)
            metrics_lock(&view->locks.items[i].holder, metrics);
        for (size_t i = 0; metrics && i < view->jobs.n; i++)
            metrics_job(&view->jobs.items.job[i], metrics);
        for (size_t i = 0; metrics && i < view->subjects.n; i++)
            metrics_subject(&view->subjects.items.subject[i], metrics);
        metrics_end(metrics, STATUS_OK, view->done_ms - view->asked_ms, body);
    } else {
        metrics_end(NULL, STATUS_UNAVAILABLE, 0, body);
    }
    fclose(body);
}

/* ---- the timeline ---------------------------------------------------------------------------- */

static void write_timeline(const struct shown *shown, struct answer *out)
{
    const struct view *view = shown->detail;
    FILE *body = open_memstream(&out->body, &out->size);
    struct timeline timeline = {.now_ms = shown->now_ms};
    int failed = 0;

    out->is_styled = 1;
    if (!body)
        return;
    if (view) {
        for (size_t i = 0; i < view->pasts.n && !failed; i++)
            failed = timeline_add(&timeline, &view->pasts.items.past[i]);
        timeline_draw(body, &timeline);
        timeline_free(&timeline);
    } else {
        out->status = 503;
    }
    fclose(body);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void answer_write(const struct question *question, const struct shown *shown, struct answer *out)
{
    const struct route *route = question->route;

    *out = (struct answer){.status = 200, .type = route->type, .age_s = -1};
    if (is_bad(question)) {
        answer_error(400, out);
        return;
    }
    switch (route->kind) {
    case ROUTE_FILE:
        copy_file(route->file, out);
        break;
    case ROUTE_OVERVIEW:
        write_overview(shown, out);
        break;
    case ROUTE_DOCUMENT:
        write_document(question, shown, out);
        break;
    case ROUTE_TIMELINE:
        write_timeline(shown, out);
        break;
    case ROUTE_METRICS:
        write_metrics(question, shown, out);
    }
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

int request_host_is_local(const char *host)
{
    size_t length;

    if (!host)
        return 0;
    if (strncmp(host, "[::1]", 5) == 0)
        return host[5] == '\0' || host[5] == ':';
    length = strcspn(host, ":");
    if (length == strlen("localhost") && strncasecmp(host, "localhost", length) == 0)
        return 1;
    /* It looks like an address of 127.0.0.0/8: it begins with "127." and has digits and dots
       only. */
    return length >= strlen("127.0.0.1") && strncmp(host, "127.", 4) == 0 &&
           strspn(host, "0123456789.") == length;
}
