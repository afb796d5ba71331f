/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the list that a verb prints, as a table or as JSON. */
#include "show/lists/listing.h"

#include <stdlib.h>

#include "command/exit_status.h"
#include "command/output/output.h"

static int out_of_memory(void)
{
    message("out of memory");
    return STATUS_FAILED;
}

int listing_open(struct listing *listing)
{
    listing->out = open_memstream(&listing->text, &listing->size);
    return listing->out ? STATUS_OK : out_of_memory();
}

FILE *listing_next(struct listing *listing)
{
    fputs(listing->n++ ? ",\n " : "[", listing->out);
    return listing->out;
}

void listing_end(struct listing *listing)
{
    fputs(listing->n ? "]\n" : "[]\n", listing->out);
}

void listing_write(struct listing *listing)
{
    fflush(listing->out);
    fwrite(listing->text, 1, listing->size, stdout);
}

int listing_is_empty(const struct listing *listing)
{
    return listing->n == 0 && listing->table.n == 0;
}

int listing_print(struct listing *listing)
{
    if (listing->failed)
        return out_of_memory();
    if (listing->json)
        listing_write(listing);
    else if (listing->table.n > 0)
        table_print(&listing->table);
    return STATUS_OK;
}

void listing_free(struct listing *listing)
{
    if (listing->out)
        fclose(listing->out);
    free(listing->text);
    table_free(&listing->table);
}
