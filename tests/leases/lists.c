/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of the list of holders and waiters: order, limits, patterns.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 */
#include <stdio.h>
#include <string.h>

#include "lib/grants.h"

struct seen {
    char text[1000];
};

/* "h:NAME/QUEUE" for a holder, "w:NAME/QUEUE" for a waiter. */
static int see(const struct rowlock_holder *holder, void *data)
{
    struct seen *seen = data;
    size_t at = strlen(seen->text);

    snprintf(seen->text + at, sizeof seen->text - at, "%s%s:%s/%d", at ? " " : "",
             holder->holding == ROWLOCK_WAITS ? "w" : "h", holder->name, (int)holder->queue);
    return 0;
}

static const char *list(struct rowlock_connection *connection, struct rowlock_choice choice)
{
    static struct seen seen;

    seen.text[0] = '\0';
    t_ok(rowlock_list_some(connection, &choice, see, &seen, &t_error));
    return seen.text;
}

/* Leases of "idle", "some%_x", "lo|ng" and "Ä" with no, one, three and no waiters, and one that
   waits longest: that for "some%_x". */
struct scene {
    struct rowlock_connection *one;
    struct rowlock_lease *lease[4];
    struct acquisition waiter[4];
    struct thread *thread[4];
};

static void add_waiter(struct scene *scene, int i, const char *name, int before)
{
    scene->waiter[i] = (struct acquisition){.wants = {t_x(name)}, .wait_ms = -1};
    scene->thread[i] = t_queue_thread(t_open(), &scene->waiter[i], t_native(), before + 1);
}

static void begin(struct scene *scene)
{
    static const char *const names[] = {"idle", "some%_x", "lo|ng", "Ä"};

    scene->one = t_open();
    for (int i = 0; i < 4; i++)
        scene->lease[i] = t_granted(scene->one, t_x(names[i]), HOUR);
    add_waiter(scene, 0, names[1], 0);
    for (int i = 1; i < 4; i++)
        add_waiter(scene, i, names[2], i - 1);
}

static void end(struct scene *scene)
{
    for (int i = 0; i < 4; i++)
        t_give(scene->lease[i]);
    for (int i = 0; i < 4; i++) {
        t_ok(t_join(scene->thread[i]));
        t_give(scene->waiter[i].lease);
    }
}

TEST(a_part_of_the_list_by_order_limit_and_pattern)
{
    struct scene scene;

    begin(&scene);
    t_text(list(scene.one, (struct rowlock_choice){0}),
           "h:lo|ng/3 w:lo|ng/3 w:lo|ng/3 w:lo|ng/3 h:some%_x/1 w:some%_x/1 h:idle/0 h:Ä/0");
    t_text(list(scene.one, (struct rowlock_choice){.order = ROWLOCK_BY_WAIT, .most_waiters = 1}),
           "h:some%_x/1 w:some%_x/1 h:lo|ng/3 w:lo|ng/3 h:idle/0 h:Ä/0");
    t_text(list(scene.one, (struct rowlock_choice){.order = ROWLOCK_BY_NAME, .most_rows = 2}),
           "h:idle/0 h:lo|ng/3");
    t_text(list(scene.one, (struct rowlock_choice){.most_waiters = 2, .most_rows = 4}),
           "h:lo|ng/3 w:lo|ng/3 w:lo|ng/3 h:some%_x/1");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "some%_?"}), "h:some%_x/1 w:some%_x/1");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "*o|*", .most_rows = 1}), "h:lo|ng/3");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "[ij]dle"}), "h:idle/0");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "IDLE"}), "");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "so_e*"}), "");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "Ä"}), "h:Ä/0");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "none*"}), "");
    t_text(list(scene.one, (struct rowlock_choice){.name = "some%_x"}), "h:some%_x/0 w:some%_x/0");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "i*", .others = 1}),
           "h:idle/0 h:lo|ng/3 w:lo|ng/3 w:lo|ng/3 w:lo|ng/3 h:some%_x/1 w:some%_x/1 h:Ä/0");
    t_text(list(scene.one, (struct rowlock_choice){.glob = "s*", .others = 1, .most_rows = 4}),
           "h:some%_x/1 w:some%_x/1 h:lo|ng/3 w:lo|ng/3");
    t_text(list(scene.one,
                (struct rowlock_choice){
                    .glob = "l*", .others = 1, .most_waiters = 1, .order = ROWLOCK_BY_NAME}),
           "h:lo|ng/3 w:lo|ng/3 h:idle/0 h:some%_x/1 w:some%_x/1 h:Ä/0");
    end(&scene);
    t_text(list(scene.one, (struct rowlock_choice){0}), "");
}

TEST(a_wrong_choice_is_refused)
{
    struct rowlock_connection *one = t_open();
    static const struct rowlock_choice wrong[] = {
        {.most_rows = -1}, {.most_waiters = -1}, {.name = "a", .glob = "a*"}, {.name = ""}};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        t_fails(rowlock_list_some(one, &wrong[i], see, NULL, &t_error), EINVAL);
    t_fails(rowlock_list_some(one, NULL, see, NULL, &t_error), EINVAL);
    t_fails(rowlock_list_some(one, &(struct rowlock_choice){0}, NULL, NULL, &t_error), EINVAL);
}
