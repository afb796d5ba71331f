/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a lease is renewed, as stories: the result of each step, and the next one. Time is
 * simulated, and the random numbers are always 0.
 * Runs on: alone
 */
#include <stdio.h>
#include <string.h>

#include "lease/lease.h"
#include "lib/test.h"
#include "util/clock.h"
#include "util/renewal.h"

#define START 1000
#define TTL 30000

struct story {
    struct rowlock_renewal renewal;
    struct rowlock_renewal_step step;
    int64_t end;
    char text[2000];
};

static void write_down(struct story *s)
{
    static const char *const names[] = {"sleep", "renew", "lost"};
    size_t at = strlen(s->text);

    snprintf(s->text + at, sizeof s->text - at, "%s%s", at ? ", " : "", names[s->step.act]);
    at = strlen(s->text);
    if (s->step.act == ROWLOCK_RENEWAL_LOST)
        snprintf(s->text + at, sizeof s->text - at, " %s", rowlock_error_name(s->renewal.code));
    else if (s->step.act == ROWLOCK_RENEWAL_SLEEP && s->step.until_ms != ROWLOCK_NEVER)
        snprintf(s->text + at, sizeof s->text - at, " %lld", (long long)s->step.until_ms - START);
}

/* Granted at START; the answer arrives `took_ms` later. */
static void granted(struct story *s, int64_t took_ms)
{
    memset(s, 0, sizeof *s);
    s->renewal.ttl_ms = TTL;
    s->end = START + TTL;
    s->step = rowlock__renewal_start(&s->renewal, START + took_ms, s->end);
    write_down(s);
}

static void hear(struct story *s, int64_t at_ms, int code)
{
    s->step = rowlock__renewal_next(&s->renewal, START + at_ms, s->end, code, 0);
    write_down(s);
}

static void wakes(struct story *s, int64_t at_ms)
{
    hear(s, at_ms, ROWLOCK_OK);
}

/* A renewal that was sent at `sent_ms` succeeds: the lease counts from there. */
static void renews(struct story *s, int64_t sent_ms, int64_t at_ms)
{
    s->end = START + sent_ms + TTL;
    hear(s, at_ms, ROWLOCK_OK);
}

static void fails(struct story *s, int64_t at_ms, int code)
{
    hear(s, at_ms, code);
}

TEST(p5_a_lease_is_renewed_every_third_of_its_ttl)
{
    struct story s;

    granted(&s, 1);
    wakes(&s, 10000);
    renews(&s, 10000, 10020);
    wakes(&s, 20000);
    renews(&s, 20000, 20001);
    t_text(s.text, "sleep 10000, renew, sleep 20000, renew, sleep 30000");
}

TEST(p5_a_grant_that_took_long_is_renewed_at_once)
{
    struct story s;

    granted(&s, 3001);
    renews(&s, 3001, 3002);
    t_text(s.text, "renew, sleep 13001");

    granted(&s, 3000);
    t_text(s.text, "sleep 10000");
    granted(&s, TTL - 1); /* adopted at the last moment */
    t_text(s.text, "renew");
    granted(&s, TTL);
    t_text(s.text, "lost ECONN");
}

TEST(p5_a_lease_renewed_for_longer_is_still_renewed_after_a_third_of_the_ttl)
{
    struct story s = {.renewal.ttl_ms = TTL};

    s.step = rowlock__renewal_start(&s.renewal, START, START + 10 * TTL);
    write_down(&s);
    t_text(s.text, "sleep 10000"); /* a break is noticed in time */
}

TEST(p5_a_failed_renewal_is_repeated_with_growing_pauses)
{
    struct story s;

    granted(&s, 1);
    wakes(&s, 10000);
    fails(&s, 10001, ROWLOCK_ECONN);
    wakes(&s, 10051);
    fails(&s, 18051, ROWLOCK_ETIMEDOUT);
    wakes(&s, 18151);
    renews(&s, 18151, 18152);
    t_text(s.text, "sleep 10000, renew, sleep 10051, renew, sleep 18151, renew, sleep 28151");
    s.text[0] = '\0';
    wakes(&s, 28151);
    fails(&s, 28152, ROWLOCK_ECONN);
    t_text(s.text, "renew, sleep 28202"); /* the pauses begin again */
}

TEST(p5_pauses_grow_to_a_second_or_a_tenth_of_the_ttl)
{
    struct story s;
    int64_t now = 10000;

    granted(&s, 1);
    for (int i = 0; i < 12; i++) {
        wakes(&s, now);
        fails(&s, now, ROWLOCK_ECONN);
        now = s.step.until_ms - START;
    }
    t_int(s.renewal.pause_ms, 1000);

    granted(&s, 1);
    s.renewal.ttl_ms = 1000;
    for (int i = 0; i < 12; i++) {
        wakes(&s, 10000);
        fails(&s, 10000, ROWLOCK_ECONN);
    }
    t_int(s.renewal.pause_ms, 101);
}

TEST(p10_the_dice_shorten_a_pause_by_half_at_most)
{
    for (uint32_t dice = 0; dice < 100; dice++) {
        struct story s;

        granted(&s, 1);
        wakes(&s, 10000);
        s.step = rowlock__renewal_next(&s.renewal, START + 10000, s.end, ROWLOCK_ECONN, dice);
        t_true(s.step.until_ms >= START + 10025 && s.step.until_ms <= START + 10050);
    }
}

TEST(p5_the_end_comes_while_the_database_is_away)
{
    struct story s;

    granted(&s, 1);
    wakes(&s, 10000);
    fails(&s, 29970, ROWLOCK_ECONN);
    wakes(&s, 30000);
    wakes(&s, 30001);
    t_text(s.text, "sleep 10000, renew, sleep 30000, lost ECONN, sleep");

    granted(&s, 1);
    wakes(&s, 10000);
    fails(&s, 30000, ROWLOCK_ECONN);
    t_text(s.text, "sleep 10000, renew, lost ECONN");
}

TEST(p5_a_loss_that_the_database_reports_counts_at_once_and_is_reported_once)
{
    struct story s;

    granted(&s, 1);
    wakes(&s, 10000);
    fails(&s, 10001, ROWLOCK_ELOST);
    wakes(&s, 10002);
    t_text(s.text, "sleep 10000, renew, lost ELOST, sleep");
}

TEST(p5_a_renewal_of_a_frozen_process_that_succeeds_is_good)
{
    struct story s;

    granted(&s, 1);
    wakes(&s, 10000);
    renews(&s, 10000, 35000); /* sent in time, and read late */
    renews(&s, 35000, 35001);
    t_text(s.text, "sleep 10000, renew, renew, sleep 45000");
}

TEST(p5_a_process_that_was_stopped_renews_at_once_while_another_knows_the_end)
{
    struct story s;

    granted(&s, 1);
    s.end = ROWLOCK_NEVER; /* a stand-in may have renewed it */
    s.step = rowlock__renewal_now(&s.renewal, START + 90000, s.end);
    write_down(&s);
    fails(&s, 90001, ROWLOCK_ECONN);
    wakes(&s, 90051);
    renews(&s, 90051, 90052);
    t_text(s.text, "sleep 10000, renew, sleep 90051, renew, sleep 100051");
}

TEST(p5_a_lease_adopted_in_its_last_millisecond_ends)
{
    struct rowlock_lease lease = {.token = 1};
    int64_t left_ms;

    for (left_ms = 1; left_ms >= -2; left_ms--) {
        rowlock__lease_renewed(&lease, START, left_ms);
        t_int(atomic_load(&lease.end_ms), START);
    }
}
