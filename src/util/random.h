/* SPDX-License-Identifier: Apache-2.0 */
/* Random bits: for jitter, and for owner ids. */
#ifndef ROWLOCK_RANDOM_H
#define ROWLOCK_RANDOM_H

#include <stdint.h>

/* 32 random bits for jitter; 0 if the system has none, which leaves the jitter out. */
uint32_t rowlock__dice(void);

/* Owner ids: 32 hexadecimal digits. The first 8 are the hash of the owner id of the lease under
   which the caller works, or random; so a list shows which leases a waiter holds. The next 8 are
   the hash of the place where the caller's pid has a meaning: this boot of this machine, and the
   PID namespace; random if that is unknown. 64 bits are random: no two calls have the same id, and
   no other caller can guess one. */

#define ROWLOCK_OWNER_SIZE 33

/* Makes an owner id. `parent`: the owner id of that lease; NULL, or a text that is none, gives a
   random one. Returns 0, or -1 if the system has no random bytes. */
int rowlock__owner_make(const char *parent, char out[ROWLOCK_OWNER_SIZE]);

/* Whether the text (NULL: no) has that form. */
int rowlock__owner_is_formed(const char *owner);
/* The hash of an owner id, and the first 8 digits of one: the hash of its parent, or random. The
   second needs an id that is formed. */
uint32_t rowlock__owner_hash(const char *owner);
uint32_t rowlock__owner_parent(const char *owner);
/* Whether its caller has its pid in the same place as this process: then the pid that the list
   shows is one of ours. 0: elsewhere, or unknown. */
int rowlock__owner_is_from_here(const char *owner);

#endif
