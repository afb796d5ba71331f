/* SPDX-License-Identifier: Apache-2.0 */
/* The contestants of this build, and the pairs that are compared. */
#ifndef BENCH_PEERS_LIST_H
#define BENCH_PEERS_LIST_H

#include "peer.h"

/* The arrays of all files of peers/; a peer without a name ends each, and NULL ends the list. */
extern const struct bench_peer *const bench_peer_files[];

struct bench_pair {
    const char *ours, *peer;
};
extern const struct bench_pair bench_pairs[]; /* NULL names end the list */

/* For the files of peers/. */
void bench_append(struct bench_command *command, const char *argument);

#endif
