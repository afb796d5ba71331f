# SPDX-License-Identifier: Apache-2.0
"""The errors, and what a driver's error means."""

from __future__ import annotations

import contextlib
import re
import ssl
from datetime import datetime
from typing import Any, Dict, Iterator, Optional, Tuple


class RowlockError(Exception):
    """The base of all errors here."""


class Holder(str):
    """Describes who holds a name. What is not known of it is None."""

    kind: Optional[str]  # lease or transaction
    pid: Optional[int]
    host: Optional[str]
    program: Optional[str]
    since: Optional[datetime]
    note: Optional[str]
    waiting: Optional[int]  # how many others wait

    def __new__(cls, text: Optional[str], row: Tuple[Any, ...] = (), own: bool = False) -> "Holder":
        """row: of Engine's `holders`; own: it counts the caller among those who wait."""
        texts = [value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                 for value in (*row, *[None] * 8)]  # fmt: skip
        kind, pid, host, program, since, _, note, waiting = texts[:8]
        self = super().__new__(cls, text or cls._described(kind, host, pid, program, since, note))
        self.kind, self.host, self.program, self.note = kind, host, program, note
        self.pid = None if pid is None else int(pid)
        self.since = datetime.fromisoformat(since.replace("Z", "+00:00")) if since else None
        self.waiting = None if waiting is None else int(waiting) - own
        return self

    @staticmethod
    def _described(kind: Any, host: Any, pid: Any, program: Any, since: Any, note: Any) -> str:
        parts = (f"a {kind} on {host or 'an unknown host'}", pid and f"pid {pid}", program,
                 since and f"since {since}")  # fmt: skip
        text = ", ".join(str(part) for part in parts if part) + (f": {note}" if note else "")
        return text if kind else "another session"


class Busy(RowlockError):
    """The name is held or waited for. `holder` describes by whom, since when, and the note."""

    def __init__(self, name: str, holder: Holder) -> None:
        super().__init__(f"could not acquire {name!r}: held by {holder}")
        self.name = name
        self.holder = holder


class Lost(RowlockError):
    """The lease has expired, or was broken: stop the work that it protects.

    `name` is that of the lease; `reason` says how it was lost, or is ''. Or the transaction that
    began a refresh ended before the refresh was complete.
    """

    def __init__(self, text: str, name: str, reason: str = "") -> None:
        super().__init__(text)
        self.name = name
        self.reason = reason


def lease_lost(name: str, reason: str = "") -> Lost:
    text = f"the lease of {name!r} is lost: stop the work done under it"
    return Lost(text + (f" ({reason})" if reason else ""), name, reason)


def refresh_lost(subject: str) -> Lost:
    text = f"the refresh of {subject!r} is lost: load ended its transaction; roll back, and refresh"
    return Lost(f"{text} again with a load that leaves it open", subject)


class Unavailable(RowlockError):
    """The database does not answer."""


class NotInstalled(RowlockError):
    """The database has no rowlock schema, or one without these functions."""


def table(**codes: str) -> Dict[str, str]:
    return {code: meaning for meaning, listed in codes.items() for code in listed.split()}


RL = {"RL005": "lost", "RL*": "refused"}
POSTGRESQL = table(  # as clients/errors.txt
    busy="55P03",
    missing="42883 3F000 42P01 42703",
    gone="08* 57P01 57P02 57P03 57P05 25P03 25P04 53200 53300",
    refused="22* 28* 3D000 42501",
)
MARIADB = table(
    lost="30005",
    busy="1205",
    missing="1305 1146 1054 1356",
    gone="1040 1041 1053 1077 1079 1152 1158 1159 1160 1161 1203 1206 1226 1927 2002 2003 2005 2006"
    " 2012 2013 2055 3169 4031 5013 5014",
    refused="1044 1045 1049 1129 1130 1142 1227 1251 1264 1366 1370 1406 1698 1820 1862 2026 2059"
    " 3118 4151 30001 30002 30003 30004 30006 30007 30008 30009",
)
CODES = {**POSTGRESQL, **MARIADB, **RL}  # no code is in two of them
GONE_KINDS = {"OperationalError", "TimeoutError", "PoolError"}  # without a code
GONE_TEXT = re.compile("closed|lost|SSL SYSCALL|no message from the libpq|server process")
# libpq reports no SQLSTATE of a login: these are the server's, or of TLS; see src/driver/failure.c
REFUSED_TEXT = re.compile(
    "authentication failed|no password supplied|no pg_hba.conf entry|is not permitted to log in"
    "|(role|database) .* does not exist|does not support SSL|certificate|private key file"
)


def kinds(error: BaseException) -> Iterator[str]:
    """The names of its classes: a driver may not be installed."""
    return (kind.__name__ for kind in type(error).__mro__)


def code(error: BaseException) -> str:
    """The SQLSTATE of psycopg, psycopg2 and asyncpg; the number of a driver of MariaDB; or ''."""
    first: Any = error.args[0] if error.args else None
    if type(first) is int and "MySQLError" in kinds(error):
        return str(first)  # PyMySQL's newer errors have an SQLSTATE as well, mostly a general one
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    return state if isinstance(state, str) else ""


def judged(error: BaseException) -> str:
    """What it means: a word of clients/errors.txt, or '' if nothing is known."""
    cause = getattr(error, "original_exception", None)  # of PyMySQL, which has one number for all
    if isinstance(cause, ssl.SSLError):
        error = cause
    found = code(error)
    if found == "0" and "InterfaceError" in kinds(error):
        return "gone"  # of PyMySQL and mysqlclient: the connection is closed
    if found:
        return CODES.get(found) or CODES.get(found[:2] + "*" * (len(found) == 5), "")
    if isinstance(error, ssl.SSLError):
        ended = isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError))
        return "gone" if ended else "refused"
    if isinstance(error, OSError):
        return "gone"
    names = set(kinds(error))
    if "PoolClosed" in names:
        return "refused"
    if names & {"Error", "InterfaceError", "TimeoutError"} and REFUSED_TEXT.search(str(error)):
        return "refused"
    if names & {"DatabaseError", "InterfaceError"} and GONE_TEXT.search(str(error)):
        return "gone"
    return "gone" if names & GONE_KINDS else ""


def passes(error: BaseException) -> bool:
    """Whether the same call may succeed later: Busy, or the server's error is not judged."""
    return isinstance(error, Busy) or bool(code(error)) and not judged(error)


def translated(error: BaseException, name: str, lost: Optional[Lost]) -> BaseException:
    """The error of this module that a driver's error means; else the driver's own."""
    meaning = judged(error)
    text = str(error.args[1] if code(error).isdigit() and len(error.args) > 1 else error)
    if meaning == "lost":
        reason = re.sub("^rowlock: |(: stop the work|\n).*", "", text, flags=re.DOTALL)
        return lost or lease_lost(name, reason)
    if meaning == "busy":
        return Busy(name, Holder(text.partition("held by ")[2].partition("\n")[0]))
    if meaning == "missing":
        advice = "python -m rowlock install, or rowlock schema install"
        return NotInstalled(f"no schema of rowlock here; run: {advice} ({text})")
    if code(error) == "30006":
        return RowlockError("no transaction is open: begin one")
    if meaning == "gone":
        return Unavailable(text or type(error).__name__)
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
