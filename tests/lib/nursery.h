/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes of a test, also of one with a JVM. A JVM does not survive fork(). So on a
 * database behind JDBC the children are forked by another process, the nursery, which was forked
 * before the JVM started. A child then gets a copy of the test's stack, at the same address.
 */
#ifndef TEST_NURSERY_H
#define TEST_NURSERY_H

#include <stddef.h>
#include <sys/types.h>

typedef int t_body(const void *data, int to);

/* main() calls it before it starts anything; `stack` is the address of a variable of main(). */
void t_start_nursery(void *stack);

/* Runs `body` in a child, which exits with the status that it returns. `to` is one of this
   process's descriptors, which the child has too. Behind JDBC `data`, and all that it points to,
   must be on the stack, constant, or from t_shared(). The child asserts nothing. */
pid_t t_fork(t_body *body, const void *data, int to);

/* Memory of zeros that this process shares with its children; it is not freed. */
void *t_shared(size_t size);

#endif
