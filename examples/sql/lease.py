# SPDX-License-Identifier: Apache-2.0
# lease.py URL: a lease from Python; it outlives transactions and connections.
import sys

import psycopg

# autocommit: each call is a transaction of its own
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    token = connection.execute("SELECT rowlock.acquire('import', '1 min')").fetchone()[0]
    if token is None:
        sys.exit("another session imports")
    try:
        print("leased", flush=True)
        # renew every third of ttl, or before each piece of work; RL005: the lease is lost
        connection.execute("SELECT rowlock.renew(%s, '1 min')", (token,))
        with connection.transaction():
            # RL005 if the lease is lost; otherwise no other session can acquire it until COMMIT
            connection.execute("SELECT rowlock.fence('import', %s)", (token,))
            connection.execute("UPDATE bond SET handled = handled + 1")
    finally:
        connection.execute("SELECT rowlock.release(%s)", (token,))
