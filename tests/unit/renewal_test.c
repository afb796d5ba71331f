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

static struct story {
    struct rowlock_renewal renewal;
    struct rowlock_renewal_step step;
    int64_t end;
    char text[2000];
} s;

static void write_down(void)
{
    static const char *const names[] = {"sleep", "renew", "lost"};
    size_t at = strlen(s.text);

    snprintf(s.text + at, sizeof s.text - at, "%s%s", at ? ", " : "", names[s.step.act]);
    at = strlen(s.text);
    if (s.step.act == ROWLOCK_RENEWAL_LOST)
        snprintf(s.text + at, sizeof s.text - at, " %s", rowlock_error_name(s.renewal.code));
    else if (s.step.act == ROWLOCK_RENEWAL_SLEEP && s.step.until_ms != ROWLOCK_NEVER)
        snprintf(s.text + at, sizeof s.text - at, " %lld", (long long)s.step.until_ms - START);
}

/* Granted at START; the answer arrives `took_ms` later. */
static void granted(int64_t took_ms)
{
    memset(&s, 0, sizeof s);
    s.renewal.ttl_ms = TTL;
    s.end = START + TTL;
    s.step = rowlock__renewal_start(&s.renewal, START + took_ms, s.end);
    write_down();
}

static void hear(int64_t at_ms, int code)
{
    s.step = rowlock__renewal_next(&s.renewal, START + at_ms, s.end, code, 0);
    write_down();
}

static void wakes(int64_t at_ms)
{
    hear(at_ms, ROWLOCK_OK);
}

/* A renewal that was sent at `sent_ms` succeeds: the lease counts from there. */
static void renews(int64_t sent_ms, int64_t at_ms)
{
    s.end = START + sent_ms + TTL;
    hear(at_ms, ROWLOCK_OK);
}

static void fails(int64_t at_ms, int code)
{
    hear(at_ms, code);
}

TEST(p5_a_lease_is_renewed_every_third_of_its_ttl)
{
    granted(1);
    wakes(10000);
    renews(10000, 10020);
    wakes(20000);
    renews(20000, 20001);
    t_text(s.text, "sleep 10000, renew, sleep 20000, renew, sleep 30000");
}

TEST(p5_a_grant_that_took_long_is_renewed_at_once)
{
    granted(3001);
    renews(3001, 3002);
    t_text(s.text, "renew, sleep 13001");

    granted(3000);
    t_text(s.text, "sleep 10000");
    granted(TTL - 1); /* adopted at the last moment */
    t_text(s.text, "renew");
    granted(TTL);
    t_text(s.text, "lost ECONN");
}

TEST(p5_a_lease_renewed_for_longer_is_still_renewed_after_a_third_of_the_ttl)
{
    s = (struct story){.renewal.ttl_ms = TTL};
    s.step = rowlock__renewal_start(&s.renewal, START, START + 10 * TTL);
    write_down();
    t_text(s.text, "sleep 10000"); /* a break is noticed in time */
}

TEST(p5_a_failed_renewal_is_repeated_with_growing_pauses)
{
    granted(1);
    wakes(10000);
    fails(10001, ROWLOCK_ECONN);
    wakes(10051);
    fails(18051, ROWLOCK_ETIMEDOUT);
    wakes(18151);
    renews(18151, 18152);
    t_text(s.text, "sleep 10000, renew, sleep 10051, renew, sleep 18151, renew, sleep 28151");
    s.text[0] = '\0';
    wakes(28151);
    fails(28152, ROWLOCK_ECONN);
    t_text(s.text, "renew, sleep 28202"); /* the pauses begin again */
}

TEST(p5_pauses_grow_to_a_second_or_a_tenth_of_the_ttl)
{
    int64_t now = 10000;

    granted(1);
    for (int i = 0; i < 12; i++) {
        wakes(now);
        fails(now, ROWLOCK_ECONN);
        now = s.step.until_ms - START;
    }
    t_int(s.renewal.pause_ms, 1000);

    granted(1);
    s.renewal.ttl_ms = 1000;
    for (int i = 0; i < 12; i++) {
        wakes(10000);
        fails(10000, ROWLOCK_ECONN);
    }
    t_int(s.renewal.pause_ms, 101);
}

TEST(p10_the_dice_shorten_a_pause_by_half_at_most)
{
    for (uint32_t dice = 0; dice < 100; dice++) {
        granted(1);
        wakes(10000);
        s.step = rowlock__renewal_next(&s.renewal, START + 10000, s.end, ROWLOCK_ECONN, dice);
        t_true(s.step.until_ms >= START + 10025 && s.step.until_ms <= START + 10050);
    }
}

TEST(p5_the_end_comes_while_the_database_is_away)
{
    granted(1);
    wakes(10000);
    fails(29970, ROWLOCK_ECONN);
    wakes(30000);
    wakes(30001);
    t_text(s.text, "sleep 10000, renew, sleep 30000, lost ECONN, sleep");

    granted(1);
    wakes(10000);
    fails(30000, ROWLOCK_ECONN);
    t_text(s.text, "sleep 10000, renew, lost ECONN");
}

TEST(p5_a_loss_that_the_database_reports_counts_at_once_and_is_reported_once)
{
    granted(1);
    wakes(10000);
    fails(10001, ROWLOCK_ELOST);
    wakes(10002);
    t_text(s.text, "sleep 10000, renew, lost ELOST, sleep");
}

TEST(p5_a_renewal_of_a_frozen_process_that_succeeds_is_good)
{
    granted(1);
    wakes(10000);
    renews(10000, 35000); /* sent in time, and read late */
    renews(35000, 35001);
    t_text(s.text, "sleep 10000, renew, renew, sleep 45000");
}

TEST(p5_a_process_that_was_stopped_renews_at_once_while_another_knows_the_end)
{
    granted(1);
    s.end = ROWLOCK_NEVER; /* a stand-in may have renewed it */
    s.step = rowlock__renewal_now(&s.renewal, START + 90000, s.end);
    write_down();
    fails(90001, ROWLOCK_ECONN);
    wakes(90051);
    renews(90051, 90052);
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
