# SPDX-License-Identifier: Apache-2.0
"""Arguments, and calls in the caller's transaction, once for both halves.

The halves differ in how they send, pause, and run tasks. These functions are coroutines: in the
blocking half an await has blocked when it returns, so nothing ever suspends, and finish() runs a
coroutine to its end.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import socket
import sys
import time
from typing import Any, Awaitable, Callable, Coroutine, NamedTuple, Optional, Tuple, TypeVar
from typing import cast

from ._engine import MARIADB, POSTGRESQL, Row, engine_of, number_of, text_of
from ._errors import Busy, Holder, RowlockError, code, refresh_lost, translating
from ._session import log
from ._sources import Run

LONGEST_TTL = 100 * 365.25 * 86400  # the server's
INSTEAD = "use `with lease(...)` in its body; for an async def, rowlock.aio.exclusive_run"
T = TypeVar("T")


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    raise AssertionError("a blocking call was suspended")


def now() -> float:
    """Counts the sleep of the machine, too, where the system can."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


# ---- arguments: errors of Python, before anything is sent


def seconds(what: str, value: object, least: float = 0.0, most: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number of seconds, not {value!r}")
    if not least <= value <= most:  # also NaN
        limits = f"from {least:g} to {most:.0f}" if most < math.inf else f"at least {least:g}"
        raise ValueError(f"{what} must be {limits} seconds, not {value!r}")
    return float(value)


def patience(what: str, value: object) -> Optional[float]:
    """Seconds; None: without limit, as is a time that no clock here reaches."""
    limit = math.inf if value is None else seconds(what, value)
    return limit if limit < LONGEST_TTL else None


def text(what: str, value: object, most: float = math.inf) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {value!r}")
    if "\0" in value:  # PostgreSQL and the C library have none
        raise ValueError(f"{what} must not contain NUL")
    size = len(value.encode())  # a lone surrogate is a UnicodeEncodeError, and so a ValueError
    if size > most or most < math.inf and not size:
        raise ValueError(f"{what} must have 1 to {most} bytes in UTF-8, not {size}")
    return value


def name_of(value: object) -> str:
    return text("name", value, 255)


class Event(NamedTuple):
    """What happened to a lease. `seconds`: since it was asked for, or since it was acquired."""

    what: str  # acquired; waited: a wait that ended without it; lost; released
    name: str
    token: Optional[int]
    seconds: float
    reason: str  # of waited and lost


class Terms(NamedTuple):
    """Of a lease."""

    name: str
    ttl: float
    wait: Optional[float]
    mode: str
    permits: Optional[int]
    note: Optional[str]
    on_event: Optional[Callable[[Event], object]]

    def tell(self, event: Event) -> None:
        log.debug("%s", event)
        try:
            if self.on_event:
                self.on_event(event)
        except Exception:
            log.exception("on_event of %r failed", self.name)


def terms(
    name: object, ttl: object, wait: object, shared: object, permits: object, note: object,
    on_event: Any,
) -> Terms:  # fmt: skip
    if not isinstance(shared, bool):
        raise TypeError(f"shared must be a bool, not {shared!r}")
    if permits is not None and type(permits) is not int:
        raise TypeError(f"permits must be an int, not {permits!r}")
    if permits is not None and not 1 <= permits < 2**31:
        raise ValueError(f"permits must be at least 1, not {permits}")
    if shared and permits is not None:
        raise ValueError("shared and permits exclude each other")
    if on_event is not None and not callable(on_event):
        raise TypeError(f"on_event must be a function, not {on_event!r}")
    mode = "permit" if permits is not None else "shared" if shared else "exclusive"
    return Terms(
        name_of(name), seconds("ttl", ttl, 1.0, LONGEST_TTL), patience("wait", wait), mode,
        permits, None if note is None else text("note", note), on_event,
    )  # fmt: skip


def is_generator_function(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def is_generator(result: Any) -> bool:
    return inspect.isgenerator(result) or inspect.isasyncgen(result)


# ---- in the caller's transaction


async def lock(run: Run, connection: Any, name: str, shared: bool, wait: Optional[float]) -> None:
    mode, name, wait = (
        "shared" if shared else "exclusive", name_of(name), patience("timeout", wait),
    )  # fmt: skip
    engine = engine_of(connection)
    with translating(name):
        in_transaction(connection)
        if engine is MARIADB:
            await lock_mariadb(run, connection, name, mode, wait)
        elif wait is None:
            await run(connection, engine[mode], (name,))
        else:
            row = await run(connection, engine["try " + mode], (name, math.ceil(wait * 1000)))
            if not number_of(row[0]):
                raise await busy(run, connection, name)


async def lock_mariadb(
    run: Run, connection: Any, name: str, mode: str, wait: Optional[float]
) -> None:
    level = text_of((await run(connection, MARIADB["isolation"], ()))[1])
    if level != "READ-COMMITTED":
        raise RowlockError(
            f"{name!r} needs a session at READ COMMITTED, and this is at {level}, whose snapshot would"
            " hide what the previous holder wrote: SET SESSION TRANSACTION ISOLATION LEVEL READ"
            " COMMITTED"
        )
    if wait is not None:  # MySQL has no SET STATEMENT
        await run(connection, MARIADB["limit"], (max(0, math.ceil(wait)),))
    try:
        await run(connection, MARIADB["begin " + mode], (name,))
    except Exception as error:
        if code(error) != "30007":  # a transaction is open
            raise
        await run(connection, MARIADB[mode], (name,))
    finally:
        if wait is not None:
            with contextlib.suppress(Exception):  # an interrupt has closed the connection
                await run(connection, MARIADB["no limit"], ())


async def within(run: Run, connection: Any, name: str, which: str, *values: Any) -> Row:
    """One statement by its name in Engine, in the caller's transaction."""
    name_of(name)
    with translating(name):
        in_transaction(connection)
        return await run(connection, engine_of(connection)[which], values)


async def next_number(run: Run, connection: Any, counter: str) -> int:
    text("counter", counter, 247)
    return int((await within(run, connection, f"counter:{counter}", "next", counter))[0])


async def refresh(
    run: Run, connection: Any, name: str, max_age: Optional[float],
    load: Callable[[], Awaitable[object]], wait: Optional[float],
) -> bool:  # fmt: skip
    locked = f"subject:{text('name', name, 247)}"
    limits = (patience("max_age", max_age), patience("timeout", wait))
    sent = (None if limit is None else math.ceil(limit * 1000) for limit in limits)
    answer = await within(run, connection, locked, "refresh", name, *sent, *this_process())
    version = number_of(answer[0])
    if version == 0:
        raise await busy(run, connection, locked)
    if version is not None:
        await load()
        with translating(locked, refresh_lost(name)):  # also if no transaction is open any more
            await run(connection, engine_of(connection)["refreshed"], (name, version))
    return version is not None


async def busy(run: Run, connection: Any, name: str) -> Busy:
    row = await run(connection, engine_of(connection)["holders"], (name,))
    return Busy(name, Holder(None, row))


def this_process() -> Tuple[str, int, str]:
    """The host, the pid and the program, for those who look."""
    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
    return socket.gethostname(), os.getpid(), program


def in_transaction(connection: Any) -> None:
    """Refuses a connection of PostgreSQL on which the lock would end with the statement."""
    if engine_of(connection) is not POSTGRESQL:
        return
    if hasattr(connection, "is_in_transaction"):  # asyncpg
        lasts = connection.is_in_transaction()
    else:
        lasts = not connection.autocommit or connection.info.transaction_status
    if not lasts:
        raise RowlockError(
            "no transaction is open, and the connection is in autocommit mode: the lock would end"
            " at once; begin a transaction (Django: transaction.atomic())"
        )
