/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the document loader that need no database: times, XML, generated documents.
 */
#include <stdio.h>
#include <string.h>

#include "../../examples/documents/documents.h"
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

    for (int64_t n = -719162; n < 2932897; n++) {
        char text[TIMESTAMP_TEXT];
        int64_t time = 0;

        timestamp_print(n * day + 1, text);
        if (timestamp_parse(text, &time) || time != n * day + 1)
            t_fail(__FILE__, __LINE__, "day %lld: %s", (long long)n, text);
    }
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
    const struct options o = {
        .generate = 1000, .seed = 7, .id_element = "id", .time_element = "time"};
    struct options other = o;
    char text[GENERATE_MAX], again[GENERATE_MAX];
    int same = 0;

    other.seed = 8;
    for (uint64_t i = 0; i < o.generate; i++) {
        size_t length = generate(&o, i, text);

        t_int((long long)length, (long long)strlen(text));
        t_contains(id_of(text), "TRD-");
        generate(&o, i, again);
        t_text(again, text);
        generate(&other, i, again);
        same += strcmp(again, text) == 0;
    }
    t_int(same, 0);
}
