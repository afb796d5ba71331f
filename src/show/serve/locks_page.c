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

/* ---- all names ------------------------------------------------------------------------------- */

static int is_shown(const struct page *page, const struct lock_name *name)
{
    for (size_t i = 0; i < name->held + name->waiting; i++) {
        const struct rowlock_holder *item = name->items[i];

        if (page_matches(page,
                         (const char *[]){item->name, item->host, item->command, item->note, NULL}))
            return 1;
    }
    return 0;
}

static void put_name(struct html_table *table, const struct lock_name *name, int64_t now_ms)
{
    const struct rowlock_holder *first = name->items[0];
    FILE *out = table->out;

    html_row(table);
    html_link(html_cell(table), "/lock", name->name);
    html_pill(html_cell(table), name_tone(name), name_state(name));
    cell_mode(html_cell(table), first);
    html_cell(table);
    if (name->held)
        cell_who(out, first);
    else
        cell_or_none(out, "");
    if (name->held > 1)
        fprintf(out, " <span class=\"none\">and %zu more</span>", name->held - 1);
    html_age(html_cell(table), name->held ? first->since_ms : 0, now_ms);
    html_cell(table);
    if (name->held)
        cell_left(out, first, now_ms);
    else
        cell_or_none(out, "");
    fprintf(html_cell(table), "%zu", name->waiting);
    cell_or_none(html_cell(table), first->note);
}

static size_t put_names(const struct page *page, const struct lock_names *names)
{
    static const char *const titles[] = {"Name",  "State",    "Mode", "Holder", "*Held for",
                                         "*Left", "*Waiting", "Note", NULL};
    struct html_table table = html_table_begin(page->out, "Names with holders or waiters", titles);
    size_t n = 0;

    for (size_t i = 0; i < names->n; i++)
        if (is_shown(page, &names->at[i]) && n++ < NAMES_MOST)
            put_name(&table, &names->at[i], page->shown->now_ms);
    html_table_end(&table);
    return n;
}

void page_locks(struct page *page)
{
    struct lock_names names;
    size_t n = 0;

    page_begin(page, TAB_LOCKS, "Locks", NULL);
    if (names_of(page->shown->all, &names) == 0 && names.n > 0)
        n = put_names(page, &names);
    if (names.n == 0)
        page_empty(page, "No lock is held or waited for. Run a command under one: "
                         "<code>rowlock run NAME -- COMMAND</code>");
    else if (n == 0)
        page_empty(page, "No name, host, command or note contains the filter.");
    page_cut(page, n, NAMES_MOST, "/api/ls.json");
    names_free(&names);
    page_end(page);
}

/* ---- one name -------------------------------------------------------------------------------- */

/* The name of the page, from its own view; or from the view of all, where the list of one name
   would lock the name briefly. */
static struct lock_name find(const struct page *page, struct lock_names *names)
{
    struct lock_name none = {.name = page->name};
    const struct view *detail = page->shown->detail, *all = page->shown->all;
    const struct view *view = detail && detail->kind == VIEW_NAME ? detail : all;

    if (names_of(view, names))
        return none;
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i].name, page->name) == 0)
            return names->at[i];
    return none;
}

static void put_holders(const struct page *page, const struct lock_name *name)
{
    static const char *const titles[] = {"Holder", "Mode",  "*Held for", "*Left",
                                         "*Token", "State", "Note",      NULL};
    struct html_table table = html_table_begin(page->out, "Holders", titles);

    for (size_t i = 0; i < name->held && i < HOLDERS_MOST; i++) {
        const struct rowlock_holder *holder = name->items[i];

        html_row(&table);
        cell_who(html_cell(&table), holder);
        cell_mode(html_cell(&table), holder);
        html_age(html_cell(&table), holder->since_ms, page->shown->now_ms);
        cell_left(html_cell(&table), holder, page->shown->now_ms);
        if (holder->token)
            fprintf(html_cell(&table), "%" PRId64, holder->token);
        else
            cell_or_none(html_cell(&table), "");
        html_pill(html_cell(&table), holder->stop ? "bad" : "good",
                  holder->stop ? "told to stop" : "held");
        cell_or_none(html_cell(&table), holder->note);
    }
    html_table_end(&table);
}

static void put_waiters(const struct page *page, const struct lock_name *name)
{
    static const char *const titles[] = {"Place", "Waiter", "Mode", "*Waits for", "Note", NULL};
    struct html_table table = html_table_begin(page->out, "Waiters, in their order", titles);

    for (size_t i = 0; i < name->waiting && i < HOLDERS_MOST; i++) {
        const struct rowlock_holder *waiter = name->items[name->held + i];

        html_row(&table);
        fprintf(html_cell(&table), "#%zu", i + 1);
        cell_who(html_cell(&table), waiter);
        cell_mode(html_cell(&table), waiter);
        html_age(html_cell(&table), waiter->since_ms, page->shown->now_ms);
        cell_or_none(html_cell(&table), waiter->note);
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
        fprintf(page->out, "<p>This is the lock of %s <a class=\"name\" href=\"%s", kinds[i].what,
                kinds[i].href);
        html_encoded(page->out, page->name + length);
        fputs("\">", page->out);
        html_word(page->out, page->name + length);
        fputs("</a>.</p>\n", page->out);
    }
}

void page_lock(struct page *page)
{
    struct lock_names names;
    struct lock_name name = find(page, &names);

    page_begin(page, TAB_LOCKS, "Lock", page->name);
    put_relations(page);
    page_section(page, "holders", "Holders", (long)name.held);
    if (name.held > 0)
        put_holders(page, &name);
    else
        page_empty(page, "The name is free, as far as the database reports.");
    page_cut(page, name.held, HOLDERS_MOST, "/api/ls.json");
    page_section_end(page);
    page_section(page, "waiters", "Waiters", (long)name.waiting);
    if (name.waiting > 0)
        put_waiters(page, &name);
    else
        page_empty(page, "No caller waits for it.");
    page_cut(page, name.waiting, HOLDERS_MOST, "/api/ls.json");
    page_section_end(page);
    history_put(page, page->shown->detail);
    fputs("<p class=\"more\"><a href=\"/api/ls.json?name=", page->out);
    html_encoded(page->out, page->name);
    fputs("\">JSON</a></p>\n", page->out);
    names_free(&names);
    page_end(page);
}
