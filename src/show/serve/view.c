/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what the database answers: the callbacks' texts are valid only while they run. */
#include "show/serve/view.h"

#include <stdlib.h>
#include <string.h>

#include "command/output/words.h"
#include "show/lists/lists.h"
#include "util/clock.h"
#include "util/error.h"

struct filling {
    struct view *view;
    struct listing listing;
    size_t n_runs;
};

struct view *view_new(enum view_kind kind, const char *name)
{
    struct view *view = calloc(1, sizeof *view);

    if (!view || !(view->name = strdup(name))) {
        free(view);
        return NULL;
    }
    view->kind = kind;
    view->references = 1;
    view->locks.order = ROWLOCK_BY_NAME;
    return view;
}

void view_free(struct view *view)
{
    struct view_part *parts[] = {&view->jobs, &view->subjects, &view->pasts};

    tree_free(&view->locks);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]->items.any);
    for (int i = 0; i < VIEW_TEXTS; i++)
        free(view->texts[i]);
    rowlock__rows_clear(&view->strings);
    free(view->name);
    free(view);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void keep(struct view *view, const char **text)
{
    *text = rowlock__rows_keep(&view->strings, *text);
}

/* Adds an item, whose texts are copies already. Nonzero: no memory. */
static int add(struct view *view, struct view_part *part, const void *item, size_t size)
{
    void *items = rowlock__grown(part->items.any, part->n, &part->size, size);

    if (!items)
        return view->failed = 1;
    part->items.any = items;
    memcpy((char *)items + part->n++ * size, item, size);
    return view->failed |= view->strings.failed;
}

static int visit_holder(const struct rowlock_holder *holder, void *data)
{
    struct filling *filling = data;

    listing_add(&filling->listing, holder);
    return filling->view->kind == VIEW_ALL ? tree_add(holder, &filling->view->locks) : 0;
}

static void keep_run(struct view *view, struct rowlock_run *run)
{
    if (!run->token) /* there is no run, so its texts are not valid */
        run->job = run->node = run->output = "";
    keep(view, &run->job);
    keep(view, &run->node);
    keep(view, &run->output);
}

static int visit_job(const struct rowlock_job_view *job, void *data)
{
    struct filling *filling = data;
    struct view *view = filling->view;
    struct rowlock_job_view copy = settled(job);

    if (view->kind == VIEW_JOB) {
        job_document_add(&filling->listing, &copy);
        return 0;
    }
    listing_add(&filling->listing, &copy);
    keep(view, &copy.name);
    keep(view, &copy.schedule);
    keep(view, &copy.paused_by);
    keep(view, &copy.paused_note);
    keep_run(view, &copy.running);
    keep_run(view, &copy.last);
    return add(view, &view->jobs, &copy, sizeof copy);
}

static int visit_run(const struct rowlock_run *run, void *data)
{
    struct filling *filling = data;

    job_document_add_run(&filling->listing, run, filling->n_runs++);
    return 0;
}

static int visit_subject(const struct rowlock_subject_view *subject, void *data)
{
    struct filling *filling = data;
    struct view *view = filling->view;
    struct rowlock_subject_view copy = *subject;

    listing_add(&filling->listing, subject);
    if (view->kind != VIEW_ALL)
        return 0;
    keep(view, &copy.name);
    keep(view, &copy.description);
    keep(view, &copy.by);
    keep(view, &copy.host);
    keep(view, &copy.error);
    return add(view, &view->subjects, &copy, sizeof copy);
}

static int visit_past(const struct rowlock_past *past, void *data)
{
    struct filling *filling = data;
    struct view *view = filling->view;
    struct rowlock_past copy = *past;

    listing_add(&filling->listing, past);
    keep(view, &copy.name);
    keep(view, &copy.host);
    keep(view, &copy.command);
    keep(view, &copy.note);
    keep(view, &copy.broken_by);
    return add(view, &view->pasts, &copy, sizeof copy);
}

/* ---- queries --------------------------------------------------------------------------------- */

static int ask_log(struct filling *filling, struct rowlock_connection *connection, const char *name,
                   struct rowlock_error *error)
{
    struct rowlock_past_filter filter = {.jobs = 1};
    char *pattern = NULL, *at;
    int code;

    if (name && *name) { /* a pattern that only this name matches */
        at = pattern = malloc(2 * strlen(name) + 1);
        if (!pattern)
            return rowlock__no_memory(error);
        for (; *name; name++) {
            if (strchr("*?[\\", *name))
                *at++ = '\\';
            *at++ = *name;
        }
        *at = '\0';
    }
    filter.name = pattern;
    code = rowlock_history(connection, &filter, visit_past, filling, error);
    free(pattern);
    return code;
}

/* Asks for one list. The listing collects the same bytes that the verb prints. */
static int ask(struct view *view, enum view_text text, struct rowlock_connection *connection,
               struct rowlock_error *error)
{
    static const struct list *const lists[VIEW_TEXTS] = {[TEXT_LS] = &holder_list,
                                                         [TEXT_JOBS] = &job_list,
                                                         [TEXT_SUBJECTS] = &subject_list,
                                                         [TEXT_LOG] = &past_list};
    struct filling filling = {.view = view, .listing.json = 1, .listing.table.list = lists[text]};
    const char *name = view->kind == VIEW_ALL ? NULL : view->name;
    int code;

    if (listing_open(&filling.listing))
        return rowlock__no_memory(error);
    if (text == TEXT_LS)
        code = rowlock_list(connection, name, visit_holder, &filling, error);
    else if (text == TEXT_JOBS)
        code = rowlock_jobs(connection, name, visit_job, &filling, error);
    else if (text == TEXT_SUBJECTS)
        code = rowlock_subjects(connection, name, visit_subject, &filling, error);
    else
        code = ask_log(&filling, connection, name, error);
    if (!code && text == TEXT_JOBS && name && !listing_is_empty(&filling.listing)) {
        code = rowlock_runs(connection, name, visit_run, &filling, error);
        job_document_end(&filling.listing);
    }
    listing_end(&filling.listing);
    if (fclose(filling.listing.out) || view->failed)
        code = code ? code : rowlock__no_memory(error);
    filling.listing.out = NULL;
    if (!code) {
        view->texts[text] = filling.listing.text;
        filling.listing.text = NULL;
    }
    listing_free(&filling.listing);
    return code;
}

int view_fill(struct view *view, struct rowlock_connection *connection, struct rowlock_error *error)
{
    static const int wants[VIEW_KINDS][VIEW_TEXTS] = {[VIEW_ALL] = {1, 1, 1},
                                                      [VIEW_NAME] = {[TEXT_LS] = 1},
                                                      [VIEW_JOB] = {[TEXT_JOBS] = 1},
                                                      [VIEW_SUBJECT] = {[TEXT_SUBJECTS] = 1},
                                                      [VIEW_LOG] = {[TEXT_LOG] = 1}};
    int code = 0;

    view->asked_ms = rowlock__now_ms();
    if (view->kind == VIEW_ALL)
        code = rowlock_clock(connection, &view->now_ms, error);
    for (int text = 0; text < VIEW_TEXTS && !code; text++)
        if (wants[view->kind][text])
            code = ask(view, text, connection, error);
    view->done_ms = rowlock__now_ms();
    if (!code && view->kind == VIEW_ALL && tree_grow(&view->locks))
        code = rowlock__no_memory(error);
    return code;
}
