# SPDX-License-Identifier: Apache-2.0
"""A fake of the database, in this process's memory, for tests of applications.

Its leases and locks are those of the package: it queues, excludes, expires and loses them. One Fake
is one database: pass it where a URL or a connection is wanted, in both halves.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any, Dict, List, Optional, Set, Tuple

from ._errors import Unavailable, lease_lost


class Fake:
    """A source of leases: rowlock.lease(fake, "import"). fake.connection(): for lock(), and so on.

    break_(name) breaks the leases of a name; stop() and start() make it unavailable, and available.
    Each job is due once, and again after `due.add(job)`; `runs` has the job, outcome and output of
    each run that has ended.
    """

    def __init__(self) -> None:
        self.held: List[Grant] = []
        self.numbers: Dict[str, int] = {}
        self.fresh: Dict[str, float] = {}  # when the data of a name were refreshed
        self.queue: List[Tuple[str, str]] = []  # of names and owners
        self.due: Set[str] = set()  # jobs
        self.known: Set[str] = set()
        self.runs: List[Tuple[str, str, str]] = []
        self.stopped = False
        self.changed = threading.Condition()
        self._tokens = itertools.count(1)

    def __call__(self) -> Connection:
        return Connection(self)

    connection = __call__

    def break_(self, name: str) -> None:
        with self.changed:
            self.held = [grant for grant in self.held if grant.name != name]

    def stop(self) -> None:
        self.stopped = True

    def start(self) -> None:
        self.stopped = False

    def holders(self, name: str, owner: object) -> List[Grant]:
        self.held = [grant for grant in self.held if grant.end > time.monotonic()]
        return [grant for grant in self.held if grant.name == name and grant.owner != owner]

    def grant(self, name: str, owner: object, mode: str, limit: Optional[int], end: float) -> Any:
        """A Grant, which the owner may have already, or None if others exclude it."""
        for grant in self.held:
            if grant.name == name and grant.owner == owner and grant.end > time.monotonic():
                return grant
        others = self.holders(name, owner)
        alike = all(other.mode == mode != "exclusive" for other in others)
        if others and (not alike or mode == "permit" and len(others) >= (limit or 1)):
            return None
        self.held.append(Grant(name, owner, mode, end, next(self._tokens)))
        return self.held[-1]


class Grant:
    """A lease, or a lock of a connection's transaction."""

    def __init__(self, name: str, owner: object, mode: str, end: float, token: int) -> None:
        self.name, self.owner, self.mode, self.end, self.token = name, owner, mode, end, token
        self.about: Tuple[Any, ...] = (None,) * 4  # host, pid, program, note


class Connection:
    """A connection to a Fake, in a transaction; in both halves of the package."""

    def __init__(self, fake: Fake) -> None:
        self._fake = fake

    def commit(self) -> None:
        """Ends its locks."""
        with self._fake.changed:
            self._fake.held = [grant for grant in self._fake.held if grant.owner is not self]

    rollback = close = commit

    def execute(self, which: str, *values: Any) -> Tuple[Any, ...]:
        """A statement of the package, by its name."""
        if self._fake.stopped:
            raise Unavailable("the fake is stopped")
        call = getattr(self, "_" + which.replace(" ", "_"))
        with self._fake.changed:
            return tuple(call(*values))

    def _request(
        self, name: str, ttl_ms: int, owner: str, _: int, mode: str, limit: Optional[int],
        *about: Any
    ) -> Tuple[Any, ...]:  # fmt: skip
        fake, ticket = self._fake, (name, owner)
        if ticket not in fake.queue:
            fake.queue.append(ticket)
        place = [one for one in fake.queue if one[0] == name].index(ticket)
        end = time.monotonic() + ttl_ms / 1000
        grant = None if place else fake.grant(name, owner, mode, limit, end)
        if grant:
            fake.queue.remove(ticket)
            grant.about = about
            return grant.token, None, None, None, 0
        return None, 1, place + 1, None, 10

    def _renew(self, token: int, ttl_ms: int) -> Tuple[Any, ...]:
        grant = self._of(token)
        grant.end = time.monotonic() + ttl_ms / 1000
        return ()

    def _of(self, token: int, name: str = "") -> Grant:
        for grant in self._fake.held:
            if grant.token == token and grant.end > time.monotonic():
                return grant
        raise lease_lost(name, "it was broken, or has expired")

    def _server(self) -> Tuple[Any, ...]:
        return ("rowlock.testing",)  # nothing to install

    def _cancel(self, name: str, owner: str) -> Tuple[Any, ...]:
        fake = self._fake
        fake.queue = [ticket for ticket in fake.queue if ticket != (name, owner)]
        fake.held = [grant for grant in fake.held if (grant.name, grant.owner) != (name, owner)]
        return ()

    def _release(self, token: int) -> Tuple[Any, ...]:
        before = len(self._fake.held)
        self._fake.held = [grant for grant in self._fake.held if grant.token != token]
        return (before - len(self._fake.held),)

    def _claim(self, job: str, _: str, owner: str, ttl_ms: int, *__: Any) -> Tuple[Any, ...]:
        fake, now_ = self._fake, time.monotonic()
        if job not in fake.known:
            fake.known.add(job)
            fake.due.add(job)
        name = f"job:{job}"
        grant = fake.grant(name, owner, "exclusive", None, now_ + ttl_ms / 1000) if (
            job in fake.due) else None  # fmt: skip
        if not grant:
            return None, None, None, "waiting", 10, None, None
        fake.due.discard(job)
        return grant.token, int(time.time() * 1000), 0, "claimed", 0, None, None

    def _finish(self, token: int, outcome: str, output: str) -> Tuple[Any, ...]:
        runs = [grant.name[4:] for grant in self._fake.held if grant.token == token]
        self._fake.runs += [(job, outcome, output) for job in runs]
        return self._release(token)

    def _try(self, name: str, wait_ms: float, mode: str) -> Tuple[Any, ...]:
        end = time.monotonic() + wait_ms / 1000
        while not self._fake.grant(name, self, mode, None, float("inf")):
            left = end - time.monotonic()
            if left <= 0:
                return (0,)
            self._fake.changed.wait(min(left, 0.01))
        return (1,)

    def _try_exclusive(self, name: str, wait_ms: float) -> Tuple[Any, ...]:
        return self._try(name, wait_ms, "exclusive")

    def _try_shared(self, name: str, wait_ms: float) -> Tuple[Any, ...]:
        return self._try(name, wait_ms, "shared")

    def _exclusive(self, name: str) -> Tuple[Any, ...]:
        return self._try(name, float("inf"), "exclusive")

    def _shared(self, name: str) -> Tuple[Any, ...]:
        return self._try(name, float("inf"), "shared")

    def _fence(self, name: str, token: int) -> Tuple[Any, ...]:
        self._of(token, name)
        return ()

    def _next(self, counter: str) -> Tuple[Any, ...]:
        self._exclusive(f"counter:{counter}")
        self._fake.numbers[counter] = self._fake.numbers.get(counter, 0) + 1
        return (self._fake.numbers[counter],)

    def _refresh(
        self, name: str, max_age_ms: Optional[int], wait_ms: Optional[int], *_: Any
    ) -> Tuple[Any, ...]:
        if self._is_fresh(name, max_age_ms):
            return (None,)
        wait = float("inf") if wait_ms is None else wait_ms
        got = self._try(f"subject:{name}", wait, "exclusive")[0]
        return (None,) if got and self._is_fresh(name, max_age_ms) else (got,)

    def _is_fresh(self, name: str, max_age_ms: Optional[int]) -> bool:
        at = self._fake.fresh.get(name)
        limit = float("inf") if max_age_ms is None else max_age_ms / 1000
        return at is not None and time.monotonic() - at <= limit

    def _refreshed(self, name: str, _: int) -> Tuple[Any, ...]:
        self._fake.fresh[name] = time.monotonic()
        return ()

    def _holders(self, name: str) -> Tuple[Any, ...]:
        for grant in self._fake.holders(name, None):
            host, pid, program, note = grant.about
            kind = "transaction" if isinstance(grant.owner, Connection) else "lease"
            return kind, pid, host, program, None, None, note, None
        return ()

    def _session(self) -> Tuple[Any, ...]:
        return (None,)
