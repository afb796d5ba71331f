/* SPDX-License-Identifier: Apache-2.0 */
/* Is the table what the newest version of each id must have made of it? */
#ifndef DOCUMENTS_VERIFY_H
#define DOCUMENTS_VERIFY_H

#include "options.h"

/*
 * Reads all inputs again and the whole table, and compares. Prints `verified N` and `differs N` on
 * stdout and the first differences on stderr. Memory does not grow with the number of documents.
 * 0: equal; 1: it differs or could not be compared. Rows whose ids are not in the inputs
 * belong to other programs and do not count.
 */
int verify(const struct options *options, int stop_fd);

#endif
