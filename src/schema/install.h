/* SPDX-License-Identifier: Apache-2.0 */
/* The upgrade of an installed schema; rowlock_install is public. */
#ifndef ROWLOCK_INSTALL_H
#define ROWLOCK_INSTALL_H

#include "rowlock.h"

/* As rowlock_install without a plan; upgrades an older version too. */
int rowlock__upgrade_installed(struct rowlock_connection *connection, struct rowlock_error *error);

#endif
