/* SPDX-License-Identifier: Apache-2.0 */
/* The contestants of this build, and who is compared with whom. */
#ifndef BENCH_PEERS_LIST_H
#define BENCH_PEERS_LIST_H

#include "peer.h"

/* What each file of peers/ offers: an array that ends with a peer without a name. Ends with NULL. */
extern const struct bench_peer *const bench_peer_files[];

struct bench_pair {
    const char *ours, *peer;
};
extern const struct bench_pair bench_pairs[]; /* ends with NULL names */

/* For the files of peers/. */
void bench_append(struct bench_command *command, const char *argument);

#endif
