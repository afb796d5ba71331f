# SPDX-License-Identifier: Apache-2.0
"""What needs no server: the table of errors, and the checks of arguments."""

import importlib
import math
import os
import ssl
import traceback
import types
import unittest
import unittest.mock
from typing import Any, Callable, Dict

import rowlock
from rowlock import _errors, _sources, aio

HERE = os.path.dirname(os.path.abspath(__file__))
CODES = os.environ.get("ROWLOCK_ERRORS", os.path.join(HERE, "../../errors.txt"))


class OperationalError(Exception):
    """As a driver's."""


class MySQLError(OperationalError):
    pass


class InterfaceError(Exception):
    pass


class ConnectionTimeout(OperationalError):
    """A class of psycopg, without an SQLSTATE."""


def with_state(state: str) -> OperationalError:
    error = OperationalError("a text")
    error.sqlstate = state  # type: ignore[attr-defined]
    return error


class Errors(unittest.TestCase):
    def test_a_traceback_shows_the_public_name(self) -> None:
        for public in (rowlock.Busy, rowlock.Lost, rowlock.Unavailable, rowlock.NotInstalled):
            self.assertEqual(public.__module__, "rowlock")
            self.assertIs(getattr(rowlock, public.__name__), public)

    def test_the_table_is_that_of_all_packages(self) -> None:
        tables: Dict[str, Dict[str, str]] = {"postgresql": {}, "mariadb": {}}
        with open(CODES, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    engine, code, meaning = line.split()
                    tables[engine][code] = meaning
        self.assertEqual(tables["postgresql"], {**_errors.POSTGRESQL, **_errors.RL})
        self.assertEqual(tables["mariadb"], {**_errors.MARIADB, **_errors.RL})

    def test_a_code_goes_before_the_class(self) -> None:
        for state, meaning in {
            "RL005": "lost", "RL003": "refused", "57P05": "gone", "08006": "gone",
            "28P01": "refused", "55P03": "busy", "42883": "missing", "23505": "",
        }.items():  # fmt: skip
            self.assertEqual(_errors.judged(with_state(state)), meaning, state)
        for number, meaning in {2006: "gone", 1045: "refused", 30005: "lost", 1062: ""}.items():
            self.assertEqual(_errors.judged(MySQLError(number, "a text")), meaning, number)
        newer = MySQLError(1205, "a text")
        newer.sqlstate = "HY000"  # type: ignore[attr-defined]
        self.assertEqual(_errors.judged(newer), "busy")
        self.assertEqual(_errors.judged(MySQLError(1644, "of the application's own")), "")

    def test_what_may_pass_is_an_error_of_the_server_that_no_table_has(self) -> None:
        for error in (
            with_state("25006"), with_state("57014"), MySQLError(1290, "--read-only"),
            rowlock.Busy("x", rowlock.Holder("another")),
        ):  # fmt: skip
            self.assertTrue(_errors.passes(error), repr(error))
        for error in (
            with_state("22003"), with_state("RL003"), MySQLError(1264, "Out of range"),
            rowlock.NotInstalled("no schema"), InterfaceError("in progress"), TypeError("no digits"),
        ):  # fmt: skip
            self.assertFalse(_errors.passes(error), repr(error))

    def test_errors_without_a_code(self) -> None:
        for error, meaning in (
            (OSError(2005, "its number is not the database's"), "gone"),
            (ConnectionRefusedError(1045, "nor is this"), "gone"),
            (ssl.SSLCertVerificationError("self-signed"), "refused"),
            (ssl.SSLEOFError("in the middle"), "gone"),
            (ConnectionTimeout("timeout expired"), "gone"),
            (InterfaceError("the connection is closed"), "gone"),
            (InterfaceError("another operation is in progress"), ""),
            (TimeoutError(), "gone"),
            (ValueError("no digits"), ""),
            (ZeroDivisionError(), ""),
        ):
            self.assertEqual(_errors.judged(error), meaning, repr(error))


class Arguments(unittest.TestCase):
    def refused(self, kind: Any, call: Callable[..., Any], *words: Any, **terms: Any) -> None:
        for module in (rowlock, aio):
            with self.assertRaises(kind, msg=f"{words} {terms}"):
                call(module)(*words, **terms)

    def test_of_a_lease(self) -> None:
        def lease(module: Any) -> Any:
            return module.lease

        def run(module: Any) -> Any:
            return module.exclusive_run

        for call in (lease, run):
            for terms in (
                {"ttl": "30s"}, {"ttl": None}, {"ttl": True}, {"wait": "5"}, {"wait": False},
                {"permits": 1.5}, {"permits": True}, {"shared": 1}, {"note": b"bytes"},
            ):  # fmt: skip
                self.refused(TypeError, call, "postgresql:///x", "x", **terms)
            for terms in (
                {"ttl": 0.9}, {"ttl": -1}, {"ttl": math.nan}, {"ttl": math.inf}, {"ttl": 4e9},
                {"wait": -1}, {"wait": math.nan}, {"permits": 0}, {"permits": 2**31},
                {"shared": True, "permits": 3}, {"note": "\ud800"}, {"note": "\0"},
            ):  # fmt: skip
                self.refused(ValueError, call, "postgresql:///x", "x", **terms)
            self.refused(TypeError, call, "postgresql:///x", b"x")
            for name in ("", "x" * 256, "\u00e9" * 128, "\udce9"):
                self.refused(ValueError, call, "postgresql:///x", name)
            with self.assertRaisesRegex(TypeError, "not builtins.object"):
                rowlock.lease(object(), "x")  # type: ignore[arg-type]
            self.refused(rowlock.RowlockError, call, "sqlite:///x", "x")
        for wait in (math.inf, 1e300, None):
            self.assertIsNone(rowlock.lease("postgresql:///x", "x", wait=wait)._terms.wait)

    def test_of_a_lock(self) -> None:
        for words, terms, kind in (
            ((b"x",), {}, TypeError), (("",), {}, ValueError),
            (("x",), {"timeout": -1}, ValueError), (("x",), {"timeout": "5"}, TypeError),
            (("x",), {"timeout": math.nan}, ValueError),
        ):  # fmt: skip
            with self.assertRaises(kind):
                rowlock.lock(object(), *words, **terms)  # type: ignore[arg-type]


class Urls(unittest.TestCase):
    def refused(self, module: Any, source: Any, *urls: str) -> None:
        with unittest.mock.patch("rowlock._sources.driver_of", lambda *_: module):
            for url in urls:
                with self.subTest(url), self.assertRaises(rowlock.RowlockError) as error:
                    source(url, "x")
                raised = error.exception
                text = traceback.format_exception(type(raised), raised, raised.__traceback__)
                self.assertNotIn("s3", "".join(text))

    def test_a_url_that_cannot_be_read_is_not_quoted(self) -> None:
        of_all = [
            "postgresql://u:s3/cret@localhost/a", "postgresql://u:s3cret@x@localhost/a",
            "postgresql://u:s3cret@localhost:port/a", "postgresql:u:s3cret@localhost/a",
            "host=localhost password=s3cret", "host=localhost password=s3cret://x",
        ]  # fmt: skip
        of_libpq = ["postgresql://u:s3cr%et@localhost/a", "postgresql://u@h/a?password=s3cret&b=1"]
        for name in ("psycopg", "psycopg2"):
            self.refused(importlib.import_module(name), rowlock.lease, *of_all, *of_libpq)
        self.refused(importlib.import_module("psycopg"), aio.lease, *of_all, *of_libpq)
        asyncpg = types.SimpleNamespace(__name__="asyncpg")
        self.refused(asyncpg, aio.lease, *of_all, "postgresql://u:s3#cret@localhost/a")
        self.refused(
            types.SimpleNamespace(), rowlock.lease, "mysql://u:s3cret/x@localhost/a",
            "mysql://u:s3#cret@localhost/a", "mysql://u:s3[cret@localhost/a",
            "mysql://u:s3cret?x@localhost/a",
        )  # fmt: skip

    def test_urls_that_can_be_read(self) -> None:
        for place in (
            "", "u:s3cret@/a", "u:a%40b@[::1]:5432/a", "h1:1,h2/a?application_name=me@x", "u@h?a=b",
            "%2Frun/a@b", "u:p?q@h/a", "127.0.0.1:",
        ):  # fmt: skip
            self.assertTrue(_sources.read(bool, f"postgresql://{place}"), place)
        self.assertEqual(
            _sources.options_of_mariadb("mariadb://u%40x:a%2Fb@[::1]:1/a%20b"),
            {"host": "::1", "port": 1, "user": "u@x", "password": "a/b", "database": "a b"},
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
