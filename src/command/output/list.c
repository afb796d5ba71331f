/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a row, and the list that a verb prints, as a table or as JSON. */
#include "command/output/list.h"

#include <stdlib.h>

#include "command/exit_status.h"
#include "command/output/json.h"
#include "command/output/output.h"

/* ---- fields ---------------------------------------------------------------------------------- */

/* Begins a member; NULL: there is none. */
static FILE *member(struct fields *to, const char *key)
{
    if (!to->json || !key)
        return NULL;
    fprintf(to->json, "%s\"%s%s\":", to->before, to->prefix, key);
    to->before = ",";
    return to->json;
}

void field_own(struct fields *to, const char *heading, char *cell)
{
    to->headings[to->n] = heading;
    to->cells[to->n++] = cell;
}

void field_text(struct fields *to, const char *heading, const char *key, const char *text)
{
    FILE *out = member(to, key);

    if (out)
        json_text(out, text);
    if (heading)
        field_cell(to, heading, cell_text(text));
}

void field_number(struct fields *to, const char *heading, const char *key, int64_t number)
{
    field_count(to, heading, key, number != 0, number);
}

void field_count(struct fields *to, const char *heading, const char *key, int is, int64_t number)
{
    FILE *out = member(to, key);

    if (out)
        json_count(out, is, number);
    if (heading)
        field_cell(to, heading, cell_number(is ? number : 0));
}

void field_instant(struct fields *to, const char *heading, const char *key, int64_t ms)
{
    FILE *out = member(to, key);

    if (out)
        json_instant(out, ms);
    if (heading)
        field_cell(to, heading, cell_instant(ms));
}

void field_duration(struct fields *to, const char *heading, const char *key, int is, int64_t ms)
{
    field_count(to, NULL, key, is, ms);
    if (heading)
        field_cell(to, heading, is ? cell_duration(ms) : cell_number(0));
}

void field_is(struct fields *to, const char *key, int is)
{
    FILE *out = member(to, key);

    if (out)
        fputs(is ? "true" : "false", out);
}

void list_members(FILE *out, const struct list *list, const void *row)
{
    struct fields to = {.json = out, .before = "{", .prefix = ""};

    list->fields(&to, row);
}

void list_object(FILE *out, const struct list *list, const void *row)
{
    list_members(out, list, row);
    putc('}', out);
}

/* ---- listings -------------------------------------------------------------------------------- */

int listing_open(struct listing *listing)
{
    listing->out = open_memstream(&listing->text, &listing->size);
    return listing->out ? STATUS_OK : out_of_memory();
}

int listing_add(struct listing *listing, const void *row)
{
    if (!listing->json)
        return listing->failed |= table_add(&listing->table, row) != 0;
    list_members(listing_next(listing), listing->table.list, row);
    return listing->failed |= putc('}', listing->out) == EOF;
}

FILE *listing_next(struct listing *listing)
{
    fputs(listing->n++ ? ",\n " : "[", listing->out);
    return listing->out;
}

void listing_end(struct listing *listing)
{
    listing->failed |= fputs(listing->n ? "]\n" : "[]\n", listing->out) == EOF;
}

int listing_write(struct listing *listing)
{
    if (fflush(listing->out) || listing->failed)
        return out_of_memory();
    fwrite(listing->text, 1, listing->size, stdout);
    return STATUS_OK;
}

int listing_is_empty(const struct listing *listing)
{
    return listing->n == 0 && listing->table.n == 0;
}

int listing_print(struct listing *listing)
{
    if (listing->failed)
        return out_of_memory();
    if (!listing->json) {
        table_print(&listing->table);
        return STATUS_OK;
    }
    listing_end(listing);
    return listing_write(listing);
}

void listing_free(struct listing *listing)
{
    if (listing->out)
        fclose(listing->out);
    free(listing->text);
    table_free(&listing->table);
}
