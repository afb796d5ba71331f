/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of crontab lines. The syntax is that of Vixie's and Debian's cron: lists, ranges (of
 * names too), steps after '*' or a range. "5/15" is refused, as in Debian: other crons read it as 5
 * alone, or as 5-59/15. Mistakes that other crons accept are refused too: a backward range, a step
 * beyond the field (90 minutes), a date that never occurs. "fri-sun" is a valid range. H is that of
 * Jenkins: H, H/15, H(0-29), H(0-29)/10.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "schedule/cron.h"
#include "util/error.h"

#define BLANKS " \t"

static const char months[] = "jan feb mar apr may jun jul aug sep oct nov dec ";
static const char weekdays[] = "sun mon tue wed thu fri sat ";

static const struct field {
    const char *name;
    int low, high, span; /* span: how many different values the field has */
    int hashed_high;     /* the last number that H means: a day that every month has */
    const char *names;   /* of three letters each, the first for `low` */
    const char *allowed;
} fields[ROWLOCK_CRON_FIELDS] = {
    {"minute", 0, 59, 60, 59, "", "0 to 59"},
    {"hour", 0, 23, 24, 23, "", "0 to 23"},
    {"day of month", 1, 31, 31, 28, "", "1 to 31"},
    {"month", 1, 12, 12, 12, months, "1 to 12 and jan to dec"},
    {"day of week", 0, 7, 7, 6, weekdays, "0 to 7, where 0 and 7 are Sunday, and sun to sat"},
};

static const char *const named[][2] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

struct reader {
    const char *text, *at;
    const char *name; /* of the job; NULL: none */
    const struct field *field;
    size_t *column;
    struct rowlock_error *error;
    char normal[ROWLOCK_CRON_TEXT_MAX + 1];
    size_t length; /* length of `normal`; if it exceeds the room: too long */
};

struct item {
    int first, last, step, ranged;
    int hashed; /* it is an H: until settle_hash, `first` and `last` are its range */
};

static struct rowlock_error *error_at(const struct reader *from, const char *at)
{
    if (from->column)
        *from->column = (size_t)(at - from->text) + 1;
    return from->error;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int is_letter_or_digit(char c)
{
    return isdigit((unsigned char)c) || (lower(c) >= 'a' && lower(c) <= 'z');
}

static int word_length(const char *at)
{
    int length = 0;

    while (at[length] && !is_blank(at[length]) && length < 40)
        length++;
    return length;
}

static int same_word(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (lower(a[i]) != b[i])
            return 0;
    return 1;
}

static int number_of(const char *at, size_t length)
{
    int value = 0;

    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)at[i]))
            return -1;
        value = value < 1000 ? value * 10 + (at[i] - '0') : value;
    }
    return length > 0 ? value : -1;
}

static int refuse_sign(const struct reader *from)
{
    return rowlock__fail(error_at(from, from->at), ROWLOCK_EINVAL,
                         "%s: \"%.*s\" is not understood: allowed are %s, *, and , - / between",
                         from->field->name, word_length(from->at), from->at, from->field->allowed);
}

__attribute__((format(printf, 2, 3))) static void write_normal(struct reader *from,
                                                               const char *format, ...)
{
    size_t room = from->length < sizeof from->normal ? sizeof from->normal - from->length : 0;
    va_list arguments;

    va_start(arguments, format);
    from->length +=
        (size_t)vsnprintf(room ? from->normal + from->length : NULL, room, format, arguments);
    va_end(arguments);
}

static int read_value(struct reader *from, int *value)
{
    const struct field *field = from->field;
    const char *start = from->at;
    size_t length;

    while (is_letter_or_digit(*from->at))
        from->at++;
    length = (size_t)(from->at - start);
    if (length == 0 && *start && !is_blank(*start) && !strchr(",-/", *start))
        return refuse_sign(from);
    if (length == 0)
        return rowlock__fail(error_at(from, start), ROWLOCK_EINVAL,
                             "%s: a value is missing: allowed are %s", field->name, field->allowed);
    *value = number_of(start, length);
    for (size_t i = 0; length == 3 && field->names[i]; i += 4)
        if (same_word(start, field->names + i, 3))
            *value = field->low + (int)i / 4;
    if (*value < field->low || *value > field->high)
        return rowlock__fail(error_at(from, start), ROWLOCK_EINVAL,
                             "%s: \"%.*s\" is invalid: allowed are %s", field->name,
                             (int)(length < 40 ? length : 40), start, field->allowed);
    return 0;
}

/* "fri-sun": a week may end on the Sunday that is 7. */
static int read_range_end(struct reader *from, const char *item, struct item *out)
{
    const char *start = from->at;
    int code = read_value(from, &out->last);

    if (code)
        return code;
    if (from->field->names == weekdays && !isdigit((unsigned char)*start) && out->last == 0 &&
        out->first > 0)
        out->last = 7;
    if (out->first > out->last)
        return rowlock__fail(error_at(from, item), ROWLOCK_EINVAL,
                             "%s: the range %.*s runs backwards: write it as two, with a comma",
                             from->field->name, (int)(from->at - item), item);
    return 0;
}

static int read_step(struct reader *from, const char *item, struct item *out)
{
    const char *slash = from->at++;
    size_t length = 0;

    if (!out->ranged)
        return rowlock__fail(error_at(from, slash), ROWLOCK_EINVAL,
                             "%s: a step needs a range: write %.*s-%d%.*s", from->field->name,
                             (int)(slash - item), item, from->field->high, word_length(slash),
                             slash);
    while (is_letter_or_digit(from->at[length]))
        length++;
    out->step = number_of(from->at, length);
    if (out->step < 1 || out->step > from->field->span)
        return rowlock__fail(error_at(from, from->at), ROWLOCK_EINVAL,
                             "%s: the step after the / is %s: allowed are 1 to %d",
                             from->field->name, length > 0 ? "out of range" : "missing",
                             from->field->span);
    from->at += length;
    return 0;
}

/* ---- H --------------------------------------------------------------------------------------- */

/* "H", or "H(0-29)" */
static int read_hash(struct reader *from, struct item *out)
{
    const char *start = from->at++;
    int code;

    out->hashed = 1;
    out->last = from->field->hashed_high;
    if (!from->name)
        return rowlock__fail(error_at(from, start), ROWLOCK_EINVAL,
                             "%s: H is derived from the name of a job, and here is none",
                             from->field->name);
    if (*from->at != '(')
        return ROWLOCK_OK;
    start = ++from->at;
    code = read_value(from, &out->first);
    if (!code && *from->at != '-')
        return rowlock__fail(error_at(from, start), ROWLOCK_EINVAL,
                             "%s: H( requires a range, as in H(%d-%d)", from->field->name,
                             from->field->low, from->field->hashed_high);
    if (!code) {
        from->at++;
        code = read_range_end(from, start, out);
    }
    if (!code && *from->at != ')')
        code = rowlock__fail(error_at(from, from->at), ROWLOCK_EINVAL,
                             "%s: the ) after the range of H is missing", from->field->name);
    from->at += !code;
    return code;
}

/* H becomes one number of its range. H/N becomes every N-th number, beginning with one of the first
   N. */
static int settle_hash(struct reader *from, const char *start, struct item *item)
{
    bool stepped = from->at[-1] != 'H' && from->at[-1] != ')';
    int span = item->last - item->first + 1;
    enum rowlock_cron_field field = (enum rowlock_cron_field)(from->field - fields);

    if (item->step > span)
        return rowlock__fail(error_at(from, start), ROWLOCK_EINVAL,
                             "%s: the step of H is %d, but its range has %d numbers",
                             from->field->name, item->step, span);
    item->first += rowlock__cron_hash(field, from->name, stepped ? item->step : span);
    if (!stepped)
        item->last = item->first;
    if (item->last == item->first)
        write_normal(from, "%d", item->first);
    else
        write_normal(from, "%d-%d/%d", item->first, item->last, item->step);
    return ROWLOCK_OK;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int read_numbers(struct reader *from, struct item *out)
{
    const char *start = from->at;
    int code = 0;

    if (*from->at == '*') {
        from->at++;
        out->last = from->field->low + from->field->span - 1;
    } else {
        code = read_value(from, &out->first);
        out->last = out->first;
        out->ranged = *from->at == '-';
        if (!code && out->ranged) {
            from->at++;
            code = read_range_end(from, start, out);
        }
    }
    return code;
}

static int read_item(struct reader *from, struct item *out)
{
    const char *start = from->at;
    int code;

    *out = (struct item){.first = from->field->low, .step = 1, .ranged = 1};
    /* "HOUR" is not an H */
    code = *start == 'H' && !is_letter_or_digit(start[1]) ? read_hash(from, out)
                                                          : read_numbers(from, out);
    if (!code && *from->at == '/')
        code = read_step(from, start, out);
    if (!code && out->hashed)
        return settle_hash(from, start, out);
    for (const char *at = start; !code && at < from->at; at++)
        write_normal(from, "%c", lower(*at));
    return code;
}

static int read_field(struct reader *from, uint64_t *set)
{
    struct item item;
    int code;

    for (;;) {
        code = read_item(from, &item);
        if (code)
            return code;
        for (int i = item.first; i <= item.last; i += item.step)
            *set |= (uint64_t)1 << (from->field->names == weekdays ? i % 7 : i);
        if (*from->at != ',')
            break;
        from->at++;
        write_normal(from, ",");
    }
    if (*from->at && !is_blank(*from->at))
        return refuse_sign(from);
    return 0;
}

static int read_fields(struct reader *from, struct rowlock_cron *line)
{
    for (int i = 0; i < ROWLOCK_CRON_FIELDS; i++) {
        int code;

        from->at += strspn(from->at, BLANKS);
        from->field = &fields[i];
        if (!*from->at)
            return rowlock__fail(error_at(from, from->at), ROWLOCK_EINVAL,
                                 "the %s is missing: the five fields are minute, hour, day of "
                                 "month, month, day of week",
                                 fields[i].name);
        line->starred[i] = *from->at == '*';
        if (i > 0)
            write_normal(from, " ");
        code = read_field(from, &line->set[i]);
        if (code)
            return code;
    }
    from->at += strspn(from->at, BLANKS);
    if (*from->at)
        return rowlock__fail(error_at(from, from->at), ROWLOCK_EINVAL,
                             "unexpected \"%.*s\": a schedule has five fields",
                             word_length(from->at), from->at);
    if (from->length > ROWLOCK_CRON_TEXT_MAX && strlen(from->text) <= ROWLOCK_CRON_TEXT_MAX)
        return rowlock__fail(error_at(from, from->text), ROWLOCK_EINVAL,
                             "the schedule is too long: %d bytes are allowed, with numbers for "
                             "every H",
                             ROWLOCK_CRON_TEXT_MAX);
    memcpy(line->text, from->normal, sizeof line->text);
    return 0;
}

const char *rowlock__cron_named(const char *text)
{
    size_t length = strcspn(text, BLANKS);

    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (length == strlen(named[i][0]) && same_word(text, named[i][0], length))
            return named[i][1];
    return NULL;
}

static int read_named(struct reader *from, struct rowlock_cron *line)
{
    const char *word = from->at, *expanded = rowlock__cron_named(word);
    struct reader inner = {.text = expanded, .at = expanded, .error = from->error};
    int length = word_length(word);

    if (!expanded && length == 7 && same_word(word, "@reboot", 7))
        return rowlock__fail(error_at(from, word), ROWLOCK_EINVAL,
                             "@reboot is not a time: the nodes of a farm boot at different times");
    if (!expanded)
        return rowlock__fail(
            error_at(from, word), ROWLOCK_EINVAL,
            "%.*s is not known: allowed are @yearly, @annually, @monthly, @weekly, "
            "@daily, @midnight, @hourly, and periods as in every 5m",
            length, word);
    from->at += length;
    from->at += strspn(from->at, BLANKS);
    if (*from->at)
        return rowlock__fail(error_at(from, from->at), ROWLOCK_EINVAL,
                             "unexpected \"%.*s\": %.*s is a complete schedule",
                             word_length(from->at), from->at, length, word);
    return read_fields(&inner, line);
}

static int refuse_never(struct reader *from, const struct rowlock_cron *line)
{
    int64_t found;

    if (rowlock__cron_seek(line, 0, 1, &found) == 0)
        return 0;
    from->at = from->text;
    for (int field = 0; field <= ROWLOCK_DAY; field++) {
        from->at += strspn(from->at, BLANKS);
        if (field < ROWLOCK_DAY)
            from->at += strcspn(from->at, BLANKS);
    }
    return rowlock__fail(error_at(from, from->at), ROWLOCK_EINVAL,
                         "day of month: never comes in the months of this schedule");
}

int rowlock__cron_read(const char *text, const char *name, struct rowlock_cron *out, size_t *column,
                       struct rowlock_error *error)
{
    struct reader from = {.text = text, .at = text, .name = name, .column = column, .error = error};
    struct rowlock_cron line = {0};
    int code;

    from.at += strspn(from.at, BLANKS);
    code = *from.at == '@' ? read_named(&from, &line) : read_fields(&from, &line);
    if (!code)
        code = refuse_never(&from, &line);
    if (!code)
        *out = line;
    return code;
}
