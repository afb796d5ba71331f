/* SPDX-License-Identifier: Apache-2.0 */
/* The files below some paths, one at a time: memory grows with the depth of folders only. */
#ifndef DOCUMENTS_WALK_H
#define DOCUMENTS_WALK_H

#include <stdint.h>

struct walk; /* the position in the tree */

/* Keeps `paths`, which end with NULL. NULL without memory. */
struct walk *walk_new(char *const *paths);
void walk_free(struct walk *walk);

/*
 * The path of the next regular file, valid until the next call; NULL at the end. It reads folders
 * recursively. It follows links to files, but links to folders only if `paths` names them.
 */
const char *walk_next(struct walk *walk);

/* Folders that could not be read so far; each was named on stderr. */
uint64_t walk_failures(const struct walk *walk);

#endif
