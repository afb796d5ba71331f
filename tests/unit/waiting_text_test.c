/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that explains a wait, at every width: what it leaves out first, and what it keeps.
 * Runs on: alone
 */
#include "run/supervise/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "command/output/output.h"
#include "lib/test.h"

#define SINCE " since 1970-01-01 00:00:01"

static struct waiting_view view;

static void begin(const char *name, const char *host, const char *command, const char *note)
{
    struct rowlock_holder holder = {.holding = ROWLOCK_HOLDS,
                                    .host = host,
                                    .pid = 812,
                                    .command = command,
                                    .note = note,
                                    .since_ms = 1000};

    setenv("TZ", "UTC", 1);
    begin_width();
    waiting_view_begin(&view, name);
    view.others = 0;
    t_int(waiting_view_add(&holder, &view), 0);
    view.place = 1;
    view.queue = 3;
}

/* Valid until the next call. */
static const char *line(size_t columns)
{
    static char *text;

    free(text);
    text = waiting_text(&view, 12000, columns);
    t_true(text != NULL);
    return text;
}

TEST(a_line_without_a_limit_is_whole)
{
    begin("nightly", "web3", "backup", "new disks, ask Ann");
    t_text(line(0), "rowlock: waiting 12s for 'nightly', 1 of 3 in the queue; "
                    "held by web3:812 backup" SINCE ": new disks, ask Ann");
    view.others = 2;
    view.holders = 3;
    t_text(line(0), "rowlock: waiting 12s for 'nightly' and 2 other names, 1 of 3 in the queue; "
                    "held by web3:812 backup and 2 others" SINCE ": new disks, ask Ann");
    waiting_view_begin(&view, "free");
    view.others = 0;
    t_text(line(0), "rowlock: waiting 12s for 'free'");
}

TEST(words_go_first_then_the_command_and_the_note_last)
{
    static const char *const lines[] = {
        "rowlock: waiting 12s for 'nightly', 1 of 3 in the queue; "
        "held by web3:812 backup" SINCE ": new disks, ask Ann",
        "waiting 12s for 'nightly', 1 of 3; held by web3:812 backup" SINCE ": new disks, ask Ann",
        "waiting 12s for 'nightly', 1 of 3; held by web3:812" SINCE ": new disks, ask Ann",
        "waiting 12s for 'nightly', 1 of 3; web3:812" SINCE ": new disks, ask Ann",
        "waiting 12s for 'nightly', 1 of 3; web3:812" SINCE ": new disks, ask A…"};

    begin("nightly", "web3", "backup", "new disks, ask Ann");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t width = text_width(lines[i]);

        t_text(line(width), lines[i]);
        if (i + 1 < sizeof lines / sizeof *lines)
            t_text(line(width - 1), lines[i + 1]);
    }
}

/* 80 columns, of which ^C may take three. */
TEST(on_80_columns_long_parts_share_the_room)
{
    begin("import/customers/europe/2026-11-21", "batch-worker-17.internal.example.com", "import",
          "replaces the index, takes until noon, ask Ann before a break");
    t_text(line(77), "waiting 12s for 'import…', 1 of 3; batch-…" SINCE ": replac…");
    begin("a", "web3", "", "replaces the index, takes until noon, ask Ann before a break");
    t_text(line(77), "waiting 12s for 'a', 1 of 3; web3:812" SINCE ": replaces th…");
    begin("備份備份備份備份備份", "web3", "", "磁碟磁碟磁碟磁碟磁碟");
    t_text(line(77), "waiting 12s for '備份備…', 1 of 3; web3:8…" SINCE ": 磁碟磁…");
}

TEST(every_width_is_kept_and_every_part_has_its_place)
{
    char many[301];

    memset(many, 'x', 300);
    many[300] = '\0';
    begin(many, many, many, many);
    for (size_t columns = 62; columns < 300; columns++) {
        const char *text = line(columns);

        t_int((long)text_width(text), (long)columns);
        t_true(strstr(text, "'x") != NULL);
        t_true(strstr(text, ", 1 of 3; ") != NULL);
        t_true(strstr(text, SINCE ": ") != NULL);
    }
}

TEST(a_session_of_a_transaction_is_kept_as_a_whole_as_long_as_it_fits)
{
    static const char expected[] =
        "waiting 12s for 'a', 1 of 3; web3 psql, server session 4711" SINCE;

    begin("a", "web3", "", "");
    free(view.who);
    view.who = strdup("web3 psql, server session 4711");
    t_text(line(sizeof expected - 1), expected);
}
