# SPDX-License-Identifier: Apache-2.0
"""The blocking half: a lease is renewed by a thread, and watched by another."""

from __future__ import annotations

import contextvars
import inspect
import threading
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Optional, Protocol, Type, TypeVar
from typing import overload

from . import _core, _lease
from ._core import Event, finish
from ._errors import Busy, RowlockError
from ._lease import Gate, Handle
from ._session import Half
from ._sources import driver_connection, hang_up, run, source

if TYPE_CHECKING:
    from typing_extensions import Literal, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R", covariant=True)


async def to_its_end(work: Coroutine[Any, Any, None], _: float) -> None:
    await work  # a second ^C ends it


async def wait(event: threading.Event, limit: float) -> None:
    event.wait(limit)


def start(task: Coroutine[Any, Any, None], name: str) -> threading.Thread:
    run_it = contextvars.copy_context().run  # for the application's function that connects
    thread = threading.Thread(target=run_it, args=(finish, task), name=name, daemon=True)
    thread.start()
    return thread


async def ended(thread: threading.Thread, limit: float) -> bool:
    thread.join(limit)
    return not thread.is_alive()


def cut(_: threading.Thread, connection: Any) -> None:
    hang_up(connection)


async def take(lock_: threading.Lock, limit: float) -> bool:
    return lock_.acquire(timeout=max(0.0, limit))


def starter() -> Callable[[Callable[[], Coroutine[Any, Any, None]]], None]:
    return lambda work: void(start(work(), "rowlock release"))


def void(_: object) -> None:
    pass


BLOCKING = Half(
    source, run, to_its_end, threading.Event, wait, threading.Lock, take, start, ended, cut,
    starter,
)  # fmt: skip


def connection_of(connection: Any) -> Any:
    """The driver's connection inside a SQLAlchemy Session or Connection, or a Django connection."""
    if callable(getattr(connection, "connection", None)):  # a Session
        connection = connection.connection()
    if hasattr(connection, "ensure_connection"):  # Django
        connection.ensure_connection()
        if connection.get_autocommit() and not connection.in_atomic_block:
            raise RowlockError(
                "no transaction is open that Django knows: use `with transaction.atomic():`"
            )
    return driver_connection(connection)


def lock(
    connection: Any, name: str, *, shared: bool = False, timeout: Optional[float] = None
) -> None:
    """Locks a name until the connection's transaction ends.

    timeout: seconds; 0 does not wait; None: as long as the server's settings allow. Raises Busy.
    MariaDB: the session must be at READ COMMITTED. If no transaction is open it begins one.
    """
    finish(_core.lock(run, connection_of(connection), name, shared, timeout))


def fence(connection: Any, name: str, token: int) -> None:
    """Keeps a lease valid until the connection's transaction ends; raises Lost if it is lost."""
    finish(_core.within(run, connection_of(connection), name, "fence", name, token))


def next_number(connection: Any, counter: str) -> int:
    """The next number of a counter, without a gap: a rollback takes it back."""
    return finish(_core.next_number(run, connection_of(connection), counter))


def refresh(
    connection: Any, name: str, max_age: Optional[float], load: Callable[[], object], *,
    timeout: Optional[float] = None,
) -> bool:  # fmt: skip
    """Calls load() if the data of that name is older than max_age seconds; None: fresh at any age.

    load writes the new data, in the connection's transaction: of all callers one does, the others
    wait until its commit. Returns whether load was called. After an error, of load too, roll back.
    """

    async def work() -> None:
        load()

    found = connection_of(connection)
    return finish(_core.refresh(run, found, name, max_age, work, timeout))


class Lease(Handle):
    """A lease that is held: lease(...).acquire(). A context manager, for one block."""

    lost: threading.Event

    def fence(self, connection: Any) -> None:
        """Keeps the lease valid until that connection's transaction ends; raises Lost."""
        self.check()
        fence(connection, self.name, self.token)

    def release(self) -> None:
        """Ends the lease. Raises Lost if it was lost before."""
        finish(self._state.leave(False))

    def __enter__(self) -> Lease:
        self._state.enter()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        finish(self._state.leave(kind is not None))


def release_all() -> None:
    """Releases each lease of this process, whose holder finds it lost. For a graceful end."""
    finish(_lease.release_all(BLOCKING))


class lease(Gate[Lease]):
    """A lock object: each `with` acquires a lease, and so does each acquire().

    source: a URL (postgresql://, mariadb://), a function that opens a connection of a driver, a
    pool of psycopg or psycopg2, an Engine of SQLAlchemy, or a connection of Django.
    ttl: seconds after which the lease of a killed holder ends. wait: seconds in the queue, None:
    without limit, 0: none; then raises Busy. permits: how many holders the name may have.
    on_event: a function, called with each Event.
    Threads may share it: each `with` has a lease of its own. One inside another, on the same object
    in the same thread, is a RowlockError.
    """

    def __init__(
        self, source: Any, name: str, *, ttl: float = 30.0, wait: Optional[float] = None,
        shared: bool = False, permits: Optional[int] = None, note: Optional[str] = None,
        on_event: Optional[Callable[[Event], object]] = None,
    ) -> None:  # fmt: skip
        wanted = _core.terms(name, ttl, wait, shared, permits, note, on_event)
        super().__init__(BLOCKING, Lease, source, wanted)

    def __repr__(self) -> str:
        return f"<rowlock.lease {self._terms.name!r}>"

    def acquire(self) -> Lease:
        """A lease, which ends by its release(), or at the end of a `with` of its own."""
        return finish(self._acquire())

    def __enter__(self) -> Lease:
        return finish(self._enter(threading.get_ident()))

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        finish(self._leave(threading.get_ident(), kind is not None))


class Decorator(Protocol):
    def __call__(self, function: Callable[P, R]) -> Callable[P, R]: ...


class SkippingDecorator(Protocol):
    def __call__(self, function: Callable[P, R]) -> Callable[P, Optional[R]]: ...


@overload
def exclusive_run(
    source: Any, name: str, *, skip: Literal[False] = ..., **options: Any
) -> Decorator: ...
@overload
def exclusive_run(source: Any, name: str, *, skip: bool, **options: Any) -> SkippingDecorator: ...
def exclusive_run(source: Any, name: str, *, skip: bool = False, **options: Any) -> Any:
    """Decorates a function: it runs under the lease. options: those of lease().

    skip: returns None if the name is still held after `wait` seconds, which are 0 then by default.
    An `async def` needs rowlock.aio.exclusive_run. A generator runs after the call: use lease() in
    its body.
    """
    if skip:
        options.setdefault("wait", 0)
    gate = lease(source, name, **options)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function) or _core.is_generator_function(function):
            raise TypeError(f"{function!r} would run after its lease: {_core.INSTEAD}")

        @wraps(function)
        def run_it(*args: Any, **kwargs: Any) -> Any:
            try:
                held = gate.acquire()
            except Busy:
                if skip:
                    return None
                raise
            with held:
                result = function(*args, **kwargs)
                if inspect.isawaitable(result) or _core.is_generator(result):
                    getattr(result, "close", getattr(result, "cancel", bool))()
                    raise TypeError(f"{result!r} would run after its lease: {_core.INSTEAD}")
                return result

        return run_it

    return decorate
