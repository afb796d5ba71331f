/* SPDX-License-Identifier: Apache-2.0 */
/* Connection strings of ODBC, and texts in UTF-16. */
#include <stdlib.h>
#include <string.h>

#include "driver/odbc/text.h"
#include "lib/test.h"

static void value_is(const char *string, const char *keys, const char *wanted)
{
    char *value = rowlock__odbc_value(string, keys);

    t_text(value ? value : "(none)", wanted);
    free(value);
}

TEST(a_key_has_any_case_and_several_names)
{
    value_is("Driver=a;Server=b;Pwd=c", "PWD,Password", "c");
    value_is("DRIVER = a ; password= c d ;x=y", "PWD,Password", "c d");
    value_is("Driver=a;;UID=me;", "User,UID", "me");
    value_is("Driver=a;MyPwd=c", "PWD", "(none)");
    value_is("Pwd=", "PWD", "");
    value_is("", "PWD", "(none)");
    value_is("PWD", "PWD", "(none)");
    value_is("x;PWD=c", "PWD", "c");
}

TEST(braces_protect_semicolons_and_braces)
{
    value_is("Driver={a;PWD=no};PWD={c;d}}e}; UID=me", "PWD", "c;d}e");
    value_is("PWD={c;d}}e}; UID=me", "UID", "me");
    value_is("PWD={c", "PWD", "c");
    value_is("PWD={}}}", "PWD", "}");
    value_is("PWD={};UID=x", "PWD", "");
}

static void survives(const char *value)
{
    char *string = strdup("Driver={a;b}");

    t_int(rowlock__odbc_append(&string, "UID", "me"), 0);
    t_int(rowlock__odbc_append(&string, "PWD", value), 0);
    t_int(rowlock__odbc_append(&string, "Option", "2"), 0);
    value_is(string, "PWD", value);
    value_is(string, "UID", "me");
    value_is(string, "Option", "2");
    value_is(string, "Driver", "a;b");
    free(string);
}

TEST(an_appended_value_is_read_as_it_was)
{
    char *empty = strdup(""), *ended = strdup("DSN=x;");

    survives("plain");
    survives("se;cr=et{}");
    survives("}");
    survives("}}");
    survives("");
    survives(" blanks ");
    survives("Größe 🔒");
    t_int(rowlock__odbc_append(&empty, "DSN", "x"), 0);
    t_text(empty, "DSN=x");
    t_int(rowlock__odbc_append(&ended, "UID", "y"), 0);
    t_text(ended, "DSN=x;UID=y");
    free(empty);
    free(ended);
}

TEST(utf16_and_back)
{
    static const char *const texts[] = {"", "a", "Größe", "漢字", "🔒x🔑", "\xef\xbf\xbd"};
    uint16_t units[40];
    char text[120];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t n = rowlock__utf16(texts[i], strlen(texts[i]), units);

        t_true(n <= strlen(texts[i]));
        text[rowlock__utf8_from_utf16(units, n, text)] = '\0';
        t_text(text, texts[i]);
    }
    t_int(rowlock__utf16("🔒", 4, units), 2);
    t_int(units[0], 0xd83d);
    t_int(units[1], 0xdd12);
}

TEST(broken_text_becomes_the_replacement_character)
{
    static const uint16_t lone[] = {'a', 0xd83d, 'b', 0xdd12, 0xd83d};
    uint16_t units[8];
    char text[40];

    t_int(rowlock__utf16("a\xff", 2, units), 2);
    t_int(units[1], 0xfffd);
    t_int(rowlock__utf16("\xf0\x9f\x94", 3, units), 3);
    text[rowlock__utf8_from_utf16(lone, 5, text)] = '\0';
    t_text(text, "a\xef\xbf\xbd"
                 "b\xef\xbf\xbd\xef\xbf\xbd");
    t_true(rowlock__is_ascii("abc\x7f", 4));
    t_true(!rowlock__is_ascii("ab\x80", 3));
}
