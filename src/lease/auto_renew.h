/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of a lease: the thread that renews it over a connection of its own. */
#ifndef ROWLOCK_LEASE_AUTO_RENEW_H
#define ROWLOCK_LEASE_AUTO_RENEW_H

#include "lease/lease.h"

/* Stops its renewals and its reports of a loss; does not wait for it. No effect
   without a keeper. */
void rowlock__keeper_quiet(struct rowlock_lease *lease);

/* Waits until its thread has ended, and closes its connection. No effect without a keeper. */
void rowlock__keeper_end(struct rowlock_lease *lease);

#endif
