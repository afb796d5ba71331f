# SPDX-License-Identifier: Apache-2.0
"""The errors, and what a driver's error means."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Optional


class RowlockError(Exception):
    """The base of all errors here."""


class Busy(RowlockError):
    """The name is held or waited for. `holder` describes by whom, since when, and the note."""

    def __init__(self, name: str, holder: Optional[str]) -> None:
        super().__init__(f"could not acquire {name!r}: held by {holder or 'another session'}")
        self.name = name
        self.holder = holder


class Lost(RowlockError):
    """The lease has expired, or was broken: stop the work that it protects.

    Or the transaction that began a refresh ended before the refresh was complete.
    """


def lease_lost(name: str) -> Lost:
    return Lost(f"the lease of {name!r} is lost: stop the work done under it")


def refresh_lost(subject: str) -> Lost:
    return Lost(
        f"the refresh of {subject!r} is lost: load ended its transaction; roll back, and refresh"
        " again with a load that leaves it open"
    )


class Unavailable(RowlockError):
    """The database does not answer."""


class NotInstalled(RowlockError):
    """The database has no rowlock schema, or one without these functions."""


GONE = {"53300", "57P01", "57P02", "57P03", "25P03", "25P04"}  # or all sessions are in use
GONE_MARIADB = {1040, 1053, 1927, 2002, 2003, 2006, 2013, 2014, 2055}
GONE_KINDS = {"OperationalError", "InterfaceError", "TimeoutError"}  # without a number
MISSING = {"42883", "3F000", "42P01"}  # PostgreSQL: function, schema, table


def sqlstate(error: BaseException) -> str:
    """Of psycopg, psycopg2 and asyncpg; drivers of MariaDB report only a number: see number()."""
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return state if isinstance(state, str) else ""


def number(error: BaseException) -> int:
    first: Any = error.args[0] if error.args else 0
    return first if isinstance(first, int) else 0


def is_connection(error: BaseException) -> bool:
    """Whether the session is gone, or never was: the call may have been executed."""
    state = sqlstate(error)
    if state:
        return state[:2] == "08" or state in GONE
    if number(error):
        return number(error) in GONE_MARIADB
    return type(error).__name__ in GONE_KINDS or isinstance(error, OSError)


def translated(error: BaseException, name: str, lost: Optional[Lost]) -> BaseException:
    """The error of this module that a driver's error means; else the driver's own."""
    state, code = sqlstate(error), number(error)
    text = str(error.args[1] if code and len(error.args) > 1 else error)
    if state == "RL005" or code == 30005:
        return lost or lease_lost(name)
    if state == "55P03" or code == 1205:
        return Busy(name, text.partition("held by ")[2].partition("\n")[0] or None)
    if state in MISSING or code == 1305:
        return NotInstalled(f"no schema of rowlock here; run: rowlock schema install ({text})")
    if is_connection(error):
        return Unavailable(text)
    return error


@contextlib.contextmanager
def translating(name: str, lost: Optional[Lost] = None) -> Iterator[None]:
    """Raises the error of this module that a driver's error means. `lost`: if it is not a lease."""
    try:
        yield
    except Exception as error:
        meaning = translated(error, name, lost)
        if meaning is error:
            raise
        raise meaning from error
