# SPDX-License-Identifier: Apache-2.0
# lock.py URL: a lock in a transaction, from Python by psycopg 3.
import sys

import psycopg

with psycopg.connect(sys.argv[1]) as connection:  # commits at its end, rolls back on an exception
    connection.execute("SELECT rowlock.exclusive(%s)", ("BondBO:DK0015966592",))
    print("locked", flush=True)
    connection.execute("UPDATE bond SET handled = handled + 1 WHERE id = %s", ("DK0015966592",))
