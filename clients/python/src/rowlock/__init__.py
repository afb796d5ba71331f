# SPDX-License-Identifier: Apache-2.0
"""Locks and leases on the database that the application already uses.

lock() locks a name in the application's own transaction. lease() acquires a lease on a connection
of its own, renews it in the background, and reports its loss. next_number() draws from a counter
without a gap. refresh() loads stale data once. rowlock.aio has the same for asyncio. The database
needs rowlock's schema: install() creates it, or python -m rowlock install URL.
"""

from ._blocking import Lease, exclusive_run, fence, lease, lock, next_number, refresh, release_all
from ._core import Event
from ._errors import Busy, Holder, Lost, NotInstalled, RowlockError, Unavailable
from ._install import install, schema
from ._jobs import Overrun
from ._threads import Jobs, Run

__all__ = ["Busy", "Event", "Holder", "Lost", "NotInstalled", "RowlockError", "Unavailable"]
__all__ += ["Lease", "exclusive_run", "fence", "lease", "lock", "next_number", "refresh"]
__all__ += ["Jobs", "Overrun", "Run", "install", "release_all", "schema"]

for _public in (Busy, Holder, Lost, NotInstalled, Overrun, RowlockError, Unavailable):
    _public.__module__ = __name__  # as a traceback shows it
