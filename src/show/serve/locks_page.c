/* SPDX-License-Identifier: Apache-2.0 */
/* The page of all names, and the page of one: its holders and its queue. */
#include <inttypes.h>
#include <string.h>

#include "command/command.h"
#include "show/serve/html.h"
#include "show/serve/page.h"
#include "show/serve/view.h"

#define NAMES_MOST 500
#define HOLDERS_MOST 200

static void put_state(FILE *out, int stops, int is_held)
{
    if (stops)
        html_pill(out, "bad", "told to stop");
    else
        html_pill(out, is_held ? "good" : "wait", is_held ? "held" : "waiting");
}

/* ---- all names ------------------------------------------------------------------------------- */

static int is_shown(const struct page *page, const struct tree_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct rowlock_holder *item = &items[i].holder;

        if (page_matches(page,
                         (const char *[]){item->name, item->host, item->command, item->note, NULL}))
            return 1;
    }
    return 0;
}

static void put_name(struct html_table *table, const struct lock_tree *locks,
                     const struct tree_name *name, int64_t now_ms)
{
    const struct rowlock_holder *first = &locks->items[name->first].holder;
    const struct rowlock_holder *holder = first_holder(locks, name);

    html_row(table);
    html_link(html_cell(table, "Name"), "/lock?name=", name->text);
    put_state(html_cell(table, "State"), name->stops, name->n_holders > 0);
    cell_mode(html_cell(table, "Mode"), first);
    cell_who(html_cell(table, "Holder"), holder);
    if (name->n_holders > 1)
        fprintf(table->out, " <span class=\"none\">and %zu more</span>", name->n_holders - 1);
    html_age(html_cell(table, "*Held for"), holder->since_ms, now_ms);
    cell_left(html_cell(table, "*Left"), holder, now_ms);
    fprintf(html_cell(table, "*Waiting"), "%zu", name->n_waiters);
    cell_or_none(html_cell(table, "Note"), first->note);
}

static size_t put_names(const struct page *page, const struct lock_tree *locks)
{
    struct html_table table =
        html_table_begin(page->out, page->failed, "Names with holders or waiters");
    size_t n = 0;

    for (size_t i = 0; i < locks->n_names; i++) {
        const struct tree_name *name = &locks->names[i];

        if (is_shown(page, locks->items + name->first, name->n_holders + name->n_waiters) &&
            n++ < NAMES_MOST)
            put_name(&table, locks, name, page->shown->now_ms);
    }
    html_table_end(&table);
    return n;
}

void page_locks(struct page *page)
{
    const struct lock_tree *locks = &page->shown->all->locks;
    size_t n = 0;

    page_begin(page, TAB_LOCKS, "Locks", NULL);
    if (locks->n_names > 0)
        n = put_names(page, locks);
    if (locks->n_names == 0)
        page_empty(page, "No lock is held or waited for. Run a command under one: "
                         "<code>rowlock run NAME -- COMMAND</code>");
    else if (n == 0)
        page_empty(page, "No name, host, command or note contains the filter.");
    page_cut(page, n, NAMES_MOST, "/api/ls.json");
    page_end(page);
}

/* ---- one name -------------------------------------------------------------------------------- */

/* The name of the page, from its own view; or from the view of all, where the list of one name
   would lock the name briefly. `*items`: its holders, then its waiters. */
static struct tree_name find(const struct page *page, const struct tree_item **items)
{
    const struct view *detail = page->shown->detail, *all = page->shown->all;
    const struct lock_tree *locks = &(detail && detail->kind == VIEW_NAME ? detail : all)->locks;

    for (size_t i = 0; i < locks->n_names; i++)
        if (strcmp(locks->names[i].text, page->name) == 0) {
            *items = locks->items + locks->names[i].first;
            return locks->names[i];
        }
    return (struct tree_name){.text = page->name};
}

static void put_holders(const struct page *page, const struct tree_item *items, size_t n)
{
    struct html_table table = html_table_begin(page->out, page->failed, "Holders");

    for (size_t i = 0; i < n && i < HOLDERS_MOST; i++) {
        const struct rowlock_holder *holder = &items[i].holder;

        html_row(&table);
        cell_who(html_cell(&table, "Holder"), holder);
        cell_mode(html_cell(&table, "Mode"), holder);
        html_age(html_cell(&table, "*Held for"), holder->since_ms, page->shown->now_ms);
        cell_left(html_cell(&table, "*Left"), holder, page->shown->now_ms);
        html_cell(&table, "*Token");
        if (holder->token)
            fprintf(table.out, "%" PRId64, holder->token);
        else
            html_none(table.out);
        put_state(html_cell(&table, "State"), holder->stop, 1);
        cell_or_none(html_cell(&table, "Note"), holder->note);
    }
    html_table_end(&table);
}

static void put_waiters(const struct page *page, const struct tree_item *items, size_t n)
{
    struct html_table table = html_table_begin(page->out, page->failed, "Waiters, in their order");

    for (size_t i = 0; i < n && i < HOLDERS_MOST; i++) {
        const struct rowlock_holder *waiter = &items[i].holder;

        html_row(&table);
        fprintf(html_cell(&table, "Place"), "#%zu", i + 1);
        cell_who(html_cell(&table, "Waiter"), waiter);
        cell_mode(html_cell(&table, "Mode"), waiter);
        html_age(html_cell(&table, "*Waits for"), waiter->since_ms, page->shown->now_ms);
        cell_or_none(html_cell(&table, "Note"), waiter->note);
    }
    html_table_end(&table);
}

/* Links to the page of the job or subject whose lease this is. */
static void put_relations(const struct page *page)
{
    static const struct {
        const char *prefix, *href, *what;
    } kinds[] = {{"job:", "/job?name=", "the job"}, {"subject:", "/subjects?q=", "the subject"}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].prefix);

        if (strncmp(page->name, kinds[i].prefix, length) != 0 || !page->name[length])
            continue;
        fprintf(page->out, "<p>This is the lock of %s ", kinds[i].what);
        html_link(page->out, kinds[i].href, page->name + length);
        fputs(".</p>\n", page->out);
    }
}

void page_lock(struct page *page)
{
    const struct tree_item *items = NULL;
    struct tree_name name = find(page, &items);

    page_begin(page, TAB_LOCKS, "Lock", page->name);
    put_relations(page);
    page_section(page, "holders", "Holders", (long)name.n_holders);
    if (name.n_holders > 0)
        put_holders(page, items, name.n_holders);
    else
        page_empty(page, "The name is free, as far as the database reports.");
    page_cut(page, name.n_holders, HOLDERS_MOST, "/api/ls.json");
    page_section_end(page);
    page_section(page, "waiters", "Waiters", (long)name.n_waiters);
    if (name.n_waiters > 0)
        put_waiters(page, items + name.n_holders, name.n_waiters);
    else
        page_empty(page, "No caller waits for it.");
    page_cut(page, name.n_waiters, HOLDERS_MOST, "/api/ls.json");
    page_section_end(page);
    history_put(page, page->shown->detail);
    page_document(page, "/api/ls.json");
    page_end(page);
}
