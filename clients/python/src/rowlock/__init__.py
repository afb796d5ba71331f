# SPDX-License-Identifier: Apache-2.0
"""Locks and leases on the database that the application already uses.

lock() locks a name in the application's own transaction. lease() acquires a lease on a connection
of its own, renews it in the background, and reports its loss. next_number() draws from a counter
without a gap. The database needs rowlock's schema: rowlock schema install.
"""

from ._errors import Busy, Lost, NotInstalled, RowlockError, Unavailable
from ._lease import Lease, exclusive_run, lease
from ._transaction import fence, lock, next_number

__all__ = [
    "Busy",
    "Lease",
    "Lost",
    "NotInstalled",
    "RowlockError",
    "Unavailable",
    "exclusive_run",
    "fence",
    "lease",
    "lock",
    "next_number",
]
