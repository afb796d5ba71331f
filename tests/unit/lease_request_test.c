/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request made from one call of rowlock_acquire: checked, sorted, packed, with an owner id of
 * its own.
 * Runs on: alone
 */
#include "lease/request.h"

#include <string.h>

#include "lib/test.h"

static struct rowlock_want permit(const char *name, int limit, int count)
{
    return (struct rowlock_want){
        .name = name, .mode = ROWLOCK_PERMIT, .limit = limit, .count = count};
}

static int make(struct rowlock_request *request, const struct rowlock_want *want, size_t n,
                const struct rowlock_terms *terms)
{
    return rowlock__request_init(request, NULL, want, n, terms, &t_error);
}

static void packs(const struct rowlock_want *want, size_t n, const char *packed)
{
    struct rowlock_request request;

    t_ok(make(&request, want, n, NULL));
    t_text(request.packed, packed);
    t_int((long long)request.length, (long long)strlen(packed));
    rowlock__request_clear(&request);
}

static int try_one(struct rowlock_want want)
{
    struct rowlock_request request;
    int code = make(&request, &want, 1, NULL);

    rowlock__request_clear(&request);
    return code;
}

TEST(p9_wants_are_sorted_by_bytes_and_packed)
{
    struct rowlock_want want[] = {{.name = "b", .mode = ROWLOCK_SHARED},
                                  permit("a ", 3, 0),
                                  {.name = "A"},
                                  permit("ab", 5, 2)};

    packs(want, 4, "41:x:0:0,6120:p:3:1,6162:p:5:2,62:s:0:0");
}

TEST(a_name_given_twice_is_taken_once)
{
    struct rowlock_want twice[] = {{.name = "a", .mode = ROWLOCK_SHARED}, {.name = "a"}};
    struct rowlock_want permits[] = {permit("a", 3, 1), permit("a", 3, 1)};
    struct rowlock_want mixed[] = {permit("a", 3, 1), {.name = "a"}};
    struct rowlock_request request;

    packs(twice, 2, "61:x:0:0");
    t_fails(make(&request, permits, 2, NULL), EINVAL);
    t_contains(t_error.text, "'a' is given twice");
    rowlock__request_clear(&request);
    t_fails(make(&request, mixed, 2, NULL), EINVAL);
    rowlock__request_clear(&request);
}

TEST(permits_that_cannot_be_are_refused)
{
    t_ok(try_one(permit("a", 1, 1)));
    t_fails(try_one(permit("a", 0, 1)), EINVAL);
    t_fails(try_one(permit("a", -1, 1)), EINVAL);
    t_fails(try_one(permit("a", 3, 4)), EINVAL);
    t_fails(try_one(permit("a", 3, -1)), EINVAL);
    t_fails(try_one((struct rowlock_want){.name = "a", .token = 7}), EINVAL);
    t_fails(try_one((struct rowlock_want){.name = "a", .mode = (enum rowlock_mode)3}), EINVAL);
    t_fails(try_one((struct rowlock_want){.name = ""}), EINVAL);
}

TEST(a_transaction_holds_no_permit)
{
    struct rowlock_want want = permit("a", 3, 1);
    struct rowlock_wants wants;

    t_fails(rowlock__wants_init(&wants, &want, 1, &t_error), EMODE);
    t_contains(t_error.text, "rowlock_acquire");
    rowlock__wants_clear(&wants);
}

TEST(a_limit_without_permits_means_nothing)
{
    struct rowlock_want want = {.name = "a", .limit = 9, .count = 9};

    packs(&want, 1, "61:x:0:0");
}

TEST(each_call_has_an_owner_of_its_own)
{
    struct rowlock_want want = {.name = "a"};
    struct rowlock_request one, two;

    t_ok(make(&one, &want, 1, NULL));
    t_ok(make(&two, &want, 1, NULL));
    t_int((long long)strspn(one.owner, "0123456789abcdef"), 32);
    t_int((long long)strlen(one.owner), 32);
    t_true(strcmp(one.owner, two.owner) != 0);
    rowlock__request_clear(&one);
    rowlock__request_clear(&two);
}

static int with_ttl(rowlock_duration ttl_ms)
{
    struct rowlock_want want = {.name = "a"};
    struct rowlock_terms terms = {.ttl_ms = ttl_ms};
    struct rowlock_request request;
    int code = make(&request, &want, 1, &terms);

    if (!code && ttl_ms)
        t_int(request.ttl_ms, ttl_ms);
    if (!code && !ttl_ms)
        t_int(request.ttl_ms, 30000);
    rowlock__request_clear(&request);
    return code;
}

TEST(a_ttl_is_a_second_at_least)
{
    t_ok(with_ttl(0));
    t_ok(with_ttl(1000));
    t_ok(with_ttl(86400000));
    t_fails(with_ttl(999), EINVAL);
    t_fails(with_ttl(-1), EINVAL);
    t_fails(with_ttl(INT64_MAX), EINVAL);
}

TEST(p12_what_people_are_shown_is_cut_to_whole_characters)
{
    struct rowlock_want want = {.name = "a"};
    struct rowlock_request request;
    char note[3001] = "", command[] = "bad \xff byte";
    struct rowlock_terms terms = {.note = note, .command = command};

    for (int i = 0; i < 1500; i++)
        strcat(note, "\xc3\xa4");
    t_ok(make(&request, &want, 1, &terms));
    t_int((long long)strlen(request.note), 1024);
    t_text(request.command, "bad ? byte");
    rowlock__request_clear(&request);
}

TEST(the_callers_own_owner_id_is_taken_and_a_wrong_one_refused)
{
    static const char *const wrong[] = {"", "0123456789abcdef0123456789abcde",
                                        "0123456789abcdef0123456789abcdef0",
                                        "0123456789ABCDEF0123456789abcdef"};
    struct rowlock_terms terms = {.owner = "0123456789abcdef0123456789abcdef"};
    struct rowlock_want want = {.name = "a"};
    struct rowlock_request request;

    t_ok(make(&request, &want, 1, &terms));
    t_text(request.owner, terms.owner);
    rowlock__request_clear(&request);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        terms.owner = wrong[i];
        t_fails(make(&request, &want, 1, &terms), EINVAL);
        t_contains(t_error.text, "owner id must be 32 digits");
        rowlock__request_clear(&request);
    }
}
