# SPDX-License-Identifier: Apache-2.0
"""Leases: acquired on a connection of their own, renewed by a thread, and watched by another.

A lease is certain until the time before its last successful call was sent, and its ttl, by the
monotonic clock. It counts as lost a little before that, whether or not the database answers.
"""

from __future__ import annotations

import functools
import logging
import os
import random
import socket
import sys
import threading
import time
import uuid
from types import TracebackType
from typing import Any, Callable, Optional, Type, TypeVar, Union, cast

from ._engine import Connect, Row, answer, connector, engine_of, run
from ._errors import Busy, Lost, RowlockError, Unavailable, is_connection, translated
from ._transaction import fence

log = logging.getLogger("rowlock")
WAIT_MS = 5000  # the longest wait of one call
PAUSE_LEAST, PAUSE_MOST = 0.05, 1.0


class Session:
    """A connection that is opened when it is needed, and again after it was lost."""

    def __init__(self, connect: Connect, name: str) -> None:
        self.connect = connect
        self.name = name
        self.connection: Any = None
        self.opened = False  # once at least

    def call(self, which: str, *values: Any) -> Optional[Row]:
        """One statement by its name in Engine. Unavailable: it may have been executed."""
        try:
            if self.connection is None:
                self.connection = self.connect()
                self.opened = True
            engine = engine_of(self.connection)
            if which == "release":
                return (answer(self.connection, engine, engine.release, values),)
            return run(self.connection, getattr(engine, which), values)
        except BaseException as error:
            if not isinstance(error, Exception) or is_connection(error):
                self.close()  # after an interrupt, too: the statement may still run
            meaning = translated(error, self.name)
            if meaning is error:
                raise
            raise meaning from error

    def close(self) -> None:
        connection, self.connection = self.connection, None
        try:
            if connection is not None:
                connection.close()
        except Exception as error:  # it is gone already
            log.debug("closing: %s", error)


class Lease:
    """A lease that is held: use lease(). A context manager."""

    def __init__(
        self, session: Session, name: str, owner: str, token: int, ttl: float, sent: float
    ) -> None:
        self.name, self.owner, self.token, self.ttl = name, owner, token, ttl
        self.lost = threading.Event()
        self._session = session
        self._margin = min(1.0, max(0.1, ttl / 10))
        self._end = sent + ttl
        self._sent = sent
        self._changed = threading.Condition()
        self._released = False
        self._pid = os.getpid()
        self._renewer = threading.Thread(target=self._renew, name=f"rowlock {name}", daemon=True)
        self._watcher = threading.Thread(target=self._watch, name=f"rowlock {name}", daemon=True)
        self._renewer.start()
        self._watcher.start()

    # ---- for the holder

    def remaining(self) -> float:
        """The seconds for which the lease is still certain; 0: it is lost."""
        self._in_this_process()
        left = self._end - self._margin - time.monotonic()
        return 0.0 if self.lost.is_set() or self._released else max(0.0, left)

    def check(self) -> None:
        """Raises Lost if the lease is not certain any more. Asks only the clock."""
        if self.remaining() <= 0:
            self.lost.set()
            raise Lost(f"the lease of {self.name!r} is lost: stop the work done under it")

    def fence(self, connection: Any) -> None:
        """Keeps the lease valid until that connection's transaction ends; raises Lost."""
        self.check()
        fence(connection, self.name, self.token)

    def release(self) -> None:
        """Ends the lease. Raises Lost if it was lost before."""
        self._in_this_process()
        with self._changed:
            if self._released:
                return
            self._released = True
            self._changed.notify_all()
        self._renewer.join(self.ttl)
        lost = self.lost.is_set() or time.monotonic() >= self._end - self._margin
        try:
            if not self._renewer.is_alive():
                try:
                    row = self._session.call("release", self.token)
                    lost = lost or not (row and row[0])
                except Unavailable:  # it may have been released: the repetition does not tell
                    self._session.call("release", self.token)
        except RowlockError as error:  # it expires
            log.debug("release of %s: %s", self.name, error)
        self._session.close()
        if lost:
            self.lost.set()
            raise Lost(f"the lease of {self.name!r} was lost before its end")

    def __enter__(self) -> "Lease":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            self.release()
        except Lost:
            if kind is None:
                raise

    def _in_this_process(self) -> None:
        if os.getpid() != self._pid:
            raise RowlockError(f"the lease of {self.name!r} belongs to the parent process")

    # ---- the threads

    def _pause(self, until: float) -> bool:
        """Sleeps until then; false if the lease has ended meanwhile."""
        with self._changed:
            while not self._released and not self.lost.is_set():
                left = until - time.monotonic()
                if left <= 0:
                    return True
                self._changed.wait(left)
        return False

    def _lose(self, why: object) -> None:
        log.debug("the lease of %s is lost: %s", self.name, why)
        with self._changed:
            self.lost.set()
            self._changed.notify_all()

    def _renew(self) -> None:
        pause = PAUSE_LEAST
        due = self._sent + self.ttl / 3
        while self._pause(due):
            sent = time.monotonic()
            try:
                self._session.call("renew", self.token, int(self.ttl * 1000))
            except Lost as error:
                self._lose(error)
                return
            except Exception as error:  # until the end, by the watcher
                log.debug("renewal of %s: %s", self.name, error)
                due = time.monotonic() + pause * random.uniform(0.5, 1)
                pause = min(2 * pause, PAUSE_MOST)
                continue
            pause, due = PAUSE_LEAST, sent + self.ttl / 3
            with self._changed:
                self._end = sent + self.ttl

    def _watch(self) -> None:
        """Announces the end in time, also while a renewal hangs."""
        while self._pause(self._end - self._margin):
            if time.monotonic() >= self._end - self._margin:
                self._lose("it was not renewed in time")


def lease(
    source: Union[str, Connect],
    name: str,
    *,
    ttl: float = 30.0,
    wait: Optional[float] = None,
    shared: bool = False,
    permits: Optional[int] = None,
    note: Optional[str] = None,
) -> Lease:
    """Acquires a lease of a name; waits in the queue for `wait` seconds, None: without limit.

    source: a URL (postgresql://, mariadb://), or a function that opens a connection of a driver.
    permits: how many holders the name may have. Raises Busy.
    """
    if shared and permits is not None:
        raise ValueError("shared and permits exclude each other")
    session = Session(connector(source), name)
    owner = uuid.uuid4().hex
    mode = "permit" if permits is not None else "shared" if shared else "exclusive"
    deadline = None if wait is None else time.monotonic() + wait
    pause, holder = PAUSE_LEAST, None
    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
    queued = True  # a call whose reply was lost may have queued
    try:
        while True:
            sent = time.monotonic()
            left = WAIT_MS if deadline is None else max(0, int((deadline - sent) * 1000))
            try:
                row = session.call(
                    "request", name, int(ttl * 1000), owner, min(WAIT_MS, left), mode, permits,
                    socket.gethostname(), os.getpid(), program, note,
                )  # fmt: skip
            except Unavailable:
                if time.monotonic() >= deadline if deadline is not None else not session.opened:
                    raise
                time.sleep(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, PAUSE_MOST)
                continue
            pause = PAUSE_LEAST
            token, _, place, held_by = row if row else (None, None, None, None)
            if token is not None:
                queued = False
                return Lease(session, name, owner, token, ttl, sent)
            holder = held_by or holder
            if deadline is not None and time.monotonic() >= deadline and place != 0:
                raise Busy(name, holder)
    finally:
        if queued:
            give_up(session, name, owner)


def give_up(session: Session, name: str, owner: str) -> None:
    """Leaves the queue; if that fails, the ticket is removed after 7 s."""
    try:
        session.call("cancel", name, owner)
    except Exception as error:
        log.debug("leaving the queue of %s: %s", name, error)
    session.close()


F = TypeVar("F", bound=Callable[..., Any])


def exclusive_run(
    source: Union[str, Connect], name: str, *, ttl: float = 30.0, skip: bool = False
) -> Callable[[F], F]:
    """Decorates a function: it runs under the lease. skip: returns None while the name is held."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run_it(*args: Any, **kwargs: Any) -> Any:
            try:
                held = lease(source, name, ttl=ttl, wait=0 if skip else None)
            except Busy:
                if skip:
                    return None
                raise
            with held:
                return function(*args, **kwargs)

        return cast(F, run_it)

    return decorate
