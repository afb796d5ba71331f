/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the document loader that need no database: times, XML, generated documents, sorting.
 */
#include <stdio.h>
#include <string.h>

#include "../../examples/documents/document.h"
#include "../../examples/documents/generate.h"
#include "../../examples/documents/sort.h"
#include "../../examples/documents/timestamp.h"
#include "lib/test.h"

/* ---- times ----------------------------------------------------------------------------------- */

static const char *normal(const char *text)
{
    static char out[TIMESTAMP_TEXT];
    int64_t time;
    const char *why = timestamp_parse(text, &time);

    if (why)
        return why;
    timestamp_print(time, out);
    return out;
}

TEST(a_time_without_zone_is_utc)
{
    t_text(normal("2014-01-15T09:57:00"), "2014-01-15T09:57:00.000000Z");
    t_text(normal("2014-01-15T09:57:00Z"), "2014-01-15T09:57:00.000000Z");
}

TEST(zones_are_taken_into_account)
{
    t_text(normal("2014-01-15T00:57:00+02:00"), "2014-01-14T22:57:00.000000Z");
    t_text(normal("2014-12-31T23:57:00-05:30"), "2015-01-01T05:27:00.000000Z");
    t_text(normal("2014-01-15T12:00:00+14:00"), "2014-01-14T22:00:00.000000Z");
    t_text(normal("2014-01-15T12:00:00+14:01"), "no such time zone");
    t_text(normal("2014-01-15T12:00:00+0200"), "no such time zone");
    t_text(normal("2014-01-15T12:00:00 Z"), "no such time zone");
}

TEST(fractions_are_kept_to_the_microsecond_and_cut_off_there)
{
    t_text(normal("2014-01-15T09:57:00.5"), "2014-01-15T09:57:00.500000Z");
    t_text(normal("2014-01-15T09:57:00.123456Z"), "2014-01-15T09:57:00.123456Z");
    t_text(normal("2014-01-15T09:57:00.1234569"), "2014-01-15T09:57:00.123456Z");
    t_text(normal("2014-01-15T23:59:59.999999999Z"), "2014-01-15T23:59:59.999999Z");
    t_text(normal("1969-12-31T23:59:59.9999999Z"), "1969-12-31T23:59:59.999999Z");
    t_text(normal("2014-01-15T09:57:00."), "not YYYY-MM-DDThh:mm:ss");
}

TEST(impossible_times_are_refused)
{
    t_text(normal("2013-02-29T00:00:00Z"), "no such date");
    t_text(normal("2012-02-29T00:00:00Z"), "2012-02-29T00:00:00.000000Z");
    t_text(normal("1900-02-29T00:00:00Z"), "no such date");
    t_text(normal("2000-02-29T00:00:00Z"), "2000-02-29T00:00:00.000000Z");
    t_text(normal("2014-13-01T00:00:00Z"), "no such date");
    t_text(normal("2014-00-01T00:00:00Z"), "no such date");
    t_text(normal("2014-04-31T00:00:00Z"), "no such date");
    t_text(normal("0000-01-01T00:00:00Z"), "no such date");
    t_text(normal("2014-01-15T25:00:00Z"), "no such time of day");
    t_text(normal("2014-01-15T09:60:00Z"), "no such time of day");
    t_text(normal("2014-01-15T09:57:60Z"), "no such time of day");
    t_text(normal("2014-01-15T24:00:01Z"), "no such time of day");
    t_text(normal("2014-01-15T24:00:00Z"), "2014-01-16T00:00:00.000000Z");
}

TEST(what_is_no_time_is_refused)
{
    const char *const others[] = {"",
                                  "yesterday",
                                  "2014-01-15",
                                  "2014-1-5T09:57:00Z",
                                  "2014-01-15 09:57:00",
                                  "20140115T095700Z",
                                  "-2014-01-15T09:57:00Z",
                                  "2014-01-15T09:57Z"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        t_text(normal(others[i]), "not YYYY-MM-DDThh:mm:ss");
}

TEST(the_first_and_the_last_year)
{
    t_text(normal("0001-01-01T00:00:00Z"), "0001-01-01T00:00:00.000000Z");
    t_text(normal("9999-12-31T23:59:59.999999Z"), "9999-12-31T23:59:59.999999Z");
    t_text(normal("0001-01-01T00:00:00+01:00"), "outside the years 0001 to 9999");
    t_text(normal("9999-12-31T23:59:59-01:00"), "outside the years 0001 to 9999");
    t_text(normal("9999-12-31T24:00:00Z"), "outside the years 0001 to 9999");
}

TEST(every_day_comes_back)
{
    const int64_t day = INT64_C(86400000000);
    struct timestamp_parts last = timestamp_split(-719162 * day - 1);

    for (int64_t n = -719162; n < 2932897; n++) {
        struct timestamp_parts p = timestamp_split(n * day + 1);

        if (timestamp_join(&p) != n * day + 1 || p.microsecond != 1 ||
            (p.day != last.day + 1 && p.day != 1))
            t_fail(__FILE__, __LINE__, "day %lld", (long long)n);
        last = p;
    }
    t_int(last.year, 9999);
    t_int(last.day, 31);
}

/* ---- documents ------------------------------------------------------------------------------- */

static struct document document;

/* Returns the id, or the reason why the document is refused. */
static const char *id_of(const char *text)
{
    static char reason[DOCUMENT_REASON];
    struct extractor *x = extractor_new("id", "time");
    int refused = extract(x, text, strlen(text), &document, reason);

    extractor_free(x);
    return refused ? reason : document.id;
}

#define TIME "<time>2014-01-15T09:57:00Z</time>"

TEST(prefixes_are_ignored_the_first_occurrence_counts_and_text_is_trimmed)
{
    t_text(id_of("<a><id>1</id><id>2</id>" TIME "</a>"), "1");
    t_text(id_of("<t:a xmlns:t='x'><t:id scheme='s'>\n  A 1\t</t:id>" TIME "</t:a>"), "A 1");
    t_text(id_of("<a><b><c><id>deep</id></c></b>" TIME "<time>no time</time></a>"), "deep");
    t_text(id_of("<id>1<time>2014-01-15T09:57:00Z</time></id>"), "12014-01-15T09:57:00Z");
    t_text(id_of("<a><id><![CDATA[<&]]></id>" TIME "</a>"), "<&");
    t_text(id_of("<a><id>x&#xE9;y</id>" TIME "</a>"), "x\xc3\xa9y");
}

TEST(other_encodings_become_utf8)
{
    t_text(id_of("<?xml version='1.0' encoding='ISO-8859-1'?><a><id>\xe9</id>" TIME "</a>"),
           "\xc3\xa9");
}

TEST(a_document_without_id_or_time_is_refused)
{
    t_text(id_of("<a>" TIME "</a>"), "id: no such element");
    t_text(id_of("<a><id>1</id></a>"), "time: no such element");
    t_text(id_of("<a><id> \n </id><id>2</id>" TIME "</a>"), "id: empty");
    t_text(id_of("<a><id/>" TIME "</a>"), "id: empty");
    t_text(id_of("<a><ids>1</ids>" TIME "</a>"), "id: no such element");
    t_text(id_of("<a><id>1</id><time>2014-02-30T00:00:00Z</time></a>"),
           "time: \"2014-02-30T00:00:00Z\": no such date");
}

TEST(malformed_xml_is_refused_wherever_it_breaks)
{
    t_contains(id_of(""), "not well-formed XML");
    t_contains(id_of("hello"), "not well-formed XML");
    t_contains(id_of("<a><id>1</id>" TIME "\n<b></a>"), "line 2");
    t_contains(id_of("<a><id>1</id>" TIME "</a><a/>"), "not well-formed XML");
    t_contains(id_of("<a><id>\xff</id>" TIME "</a>"), "not well-formed XML");
}

static const char *id_of_length(size_t length, size_t blanks)
{
    char text[2000];
    int n = snprintf(text, sizeof text, "<a>" TIME "<id>%*s", (int)blanks, "");

    memset(text + n, 'x', length);
    snprintf(text + n + length, sizeof text - (size_t)n - length, "%*s</id></a>", (int)blanks, "");
    return id_of(text);
}

TEST(an_id_is_as_long_as_a_lock_name_allows)
{
    t_int(DOCUMENT_ID_MAX, 244);
    t_int((long long)strlen(id_of_length(244, 0)), 244);
    t_int((long long)strlen(id_of_length(244, 300)), 244);
    t_text(id_of_length(245, 0), "id: longer than 244 bytes");
    t_text(id_of_length(245, 300), "id: longer than 244 bytes");
}

TEST(entities_are_safe)
{
    t_text(id_of("<!DOCTYPE a [<!ENTITY e 'inner'>]><a><id>&e;</id>" TIME "</a>"), "inner");
    t_contains(
        id_of("<!DOCTYPE a [<!ENTITY e SYSTEM '/etc/hostname'>]><a><id>1&e;</id>" TIME "</a>"),
        "id: holds an entity that is not read");
    t_text(id_of("<!DOCTYPE a [<!ENTITY e SYSTEM '/etc/hostname'>]><a><id>1</id>" TIME "&e;</a>"),
           "1");
    t_contains(id_of("<!DOCTYPE a SYSTEM 'x.dtd'><a><id>1&e;</id>" TIME "</a>"),
               "id: holds an entity that is not read");
    t_contains(id_of("<a><id>&e;</id>" TIME "</a>"), "not well-formed XML");
}

TEST(an_entity_bomb_is_refused)
{
    char text[4000];
    int n = snprintf(text, sizeof text, "<!DOCTYPE a [<!ENTITY e0 'ha'>");

    for (int i = 1; i <= 30; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "<!ENTITY e%d '&e%d;&e%d;&e%d;&e%d;'>", i,
                      i - 1, i - 1, i - 1, i - 1);
    snprintf(text + n, sizeof text - (size_t)n, "]><a><id>1</id>" TIME "<b>&e30;</b></a>");
    t_contains(id_of(text), "not well-formed XML: limit on input amplification factor");
}

/* ---- generated documents --------------------------------------------------------------------- */

TEST(generated_documents_are_documents_and_always_the_same)
{
    const struct generator g = {1000, 7, 4, "id", "time"};
    const struct generator other = {1000, 8, 4, "id", "time"};
    char text[GENERATE_MAX], again[GENERATE_MAX];
    int same = 0;

    for (uint64_t i = 0; i < g.documents; i++) {
        size_t length = generate(&g, i, text);

        t_int((long long)length, (long long)strlen(text));
        t_contains(id_of(text), "TRD-");
        generate(&g, i, again);
        t_text(again, text);
        generate(&other, i, again);
        same += strcmp(again, text) == 0;
    }
    t_int(same, 0);
}

/* ---- sorting --------------------------------------------------------------------------------- */

static struct entry entry_of(unsigned n)
{
    struct entry e = {.time = (int64_t)(n * 2654435761u % 1000), .digest = n};

    e.length = (uint16_t)snprintf(e.id, sizeof e.id, "%0*u", 200, n * 40503u % 60000);
    return e;
}

/* More than one merge of 32 runs of 2 MiB. */
TEST(more_than_memory_holds_is_sorted)
{
    const unsigned n = 400000;
    struct sorter *sorter = sorter_new();
    struct entry last = {.length = 0};
    const struct entry *e;
    unsigned seen = 0;
    uint64_t sum = 0;

    for (unsigned i = 0; i < n; i++) {
        struct entry entry = entry_of(i);

        t_true(sorter_add(sorter, &entry));
    }
    t_true(sorter_start(sorter));
    for (; (e = sorter_next(sorter)); seen++) {
        int order = entry_compare_ids(&last, e);

        t_true(order < 0 || (order == 0 && last.time <= e->time));
        last = *e;
        sum += e->digest;
    }
    t_int(seen, n);
    t_int((long long)sum, (long long)n * (n - 1) / 2);
    t_true(!sorter_failed(sorter));
    sorter_free(sorter);
}

TEST(nothing_is_sorted_too)
{
    struct sorter *sorter = sorter_new();

    t_true(sorter_start(sorter));
    t_true(sorter_next(sorter) == NULL);
    sorter_free(sorter);
}
