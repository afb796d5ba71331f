/* SPDX-License-Identifier: Apache-2.0 */
/* This program. */
#ifndef ROWLOCK_SYSTEM_PROGRAM_H
#define ROWLOCK_SYSTEM_PROGRAM_H

/* Its name without a folder. POSIX has no such function: there it is "program". */
const char *rowlock__program_name(void);

#endif
