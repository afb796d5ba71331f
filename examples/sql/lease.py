# SPDX-License-Identifier: Apache-2.0
# lease.py URL: a lease from Python: it outlives transactions and connections, for ttl at least.
import sys

import psycopg

with psycopg.connect(sys.argv[1], autocommit=True) as connection:  # each call is a transaction of its own
    token = connection.execute("SELECT rowlock.acquire('import', '1 min')").fetchone()[0]
    if token is None:
        sys.exit("somebody else imports")
    try:
        print("leased", flush=True)
        # every third of ttl, say, or before each piece of work; an error (RL005) if the lease is lost
        connection.execute("SELECT rowlock.renew(%s, '1 min')", (token,))
        with connection.transaction():
            connection.execute("SELECT rowlock.fence('import', %s)", (token,))  # an error if it is lost
            connection.execute("UPDATE bond SET handled = handled + 1")  # exact: nobody else has the lease
    finally:
        connection.execute("SELECT rowlock.release(%s)", (token,))
