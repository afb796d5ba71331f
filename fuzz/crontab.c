/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the parser of crontabs. The position of a mistake is in the text. Jobs have distinct
 * names, a schedule, and a command from the text. Parsing the printed form gives the same jobs.
 */
#include "fuzz.h"
#include "run/cron/crontab.h"

/* Whether the column of the mistake is in its line, or just behind it. */
static int is_in_text(const struct crontab_mistake *mistake, const char *text, size_t size)
{
    size_t line = 1, start = 0, end;

    for (size_t i = 0; i < size && line < mistake->line; i++)
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    for (end = start; end < size && text[end] != '\n'; end++)
        ;
    return mistake->line == line && mistake->column >= 1 && mistake->column <= end - start + 1;
}

static void look_at(const struct crontab *crontab, const char *text, size_t size)
{
    for (size_t i = 0; i < crontab->n; i++) {
        const struct crontab_entry *entry = &crontab->entries[i];

        fuzz_check(*entry->name && *entry->command && entry->schedule);
        fuzz_check(memmem(text, size, entry->command, strlen(entry->command)));
        fuzz_check(entry->settings.ttl_ms >= 1000);
        fuzz_check(entry->settings.kill_after_ms <= entry->settings.ttl_ms / 4);
        for (size_t k = 0; k < i; k++) {
            fuzz_check(strcmp(entry->name, crontab->entries[k].name) != 0);
            fuzz_check(entry->line > crontab->entries[k].line);
        }
    }
}

struct input {
    const char *text;
    size_t size, line, mistakes;
};

/* Mistakes are reported in the order of the lines, one per line. */
static void look_at_mistake(const struct crontab_mistake *mistake, void *data)
{
    struct input *input = data;

    fuzz_check(mistake->text[0] && mistake->line > input->line);
    fuzz_check(is_in_text(mistake, input->text, input->size));
    input->line = mistake->line;
    input->mistakes++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct crontab crontab = {.n = 7};
    struct input input = {.text = text, .size = size};

    if (crontab_read(text, size, &crontab, look_at_mistake, &input) == 0) {
        fuzz_check(input.mistakes == 0);
        look_at(&crontab, text, size);
        crontab_free(&crontab);
    } else {
        fuzz_check(crontab.n == 7 && input.mistakes > 0);
    }
    free(text);
    return 0;
}
