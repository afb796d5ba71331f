# SPDX-License-Identifier: Apache-2.0
"""The app of Django, in this process, on the database ROWLOCK_TEST_URL with rowlock's schema."""

import io
import os
import unittest
from typing import Any, List
from urllib.parse import unquote, urlsplit

import django
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections

PARTS = urlsplit(os.environ["ROWLOCK_TEST_URL"])
MARIADB = PARTS.scheme in ("mariadb", "mysql")
if MARIADB:
    import pymysql

    pymysql.install_as_MySQLdb()
settings.configure(
    INSTALLED_APPS=["rowlock.django"],
    DATABASES={
        "default": {
            "ENGINE": f"django.db.backends.{'mysql' if MARIADB else 'postgresql'}",
            "NAME": PARTS.path[1:], "HOST": PARTS.hostname, "PORT": PARTS.port,
            "USER": PARTS.username, "PASSWORD": unquote(PARTS.password or ""),
            "CONN_MAX_AGE": None,
        },
        "file": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
    },
)  # fmt: skip
django.setup()

import rowlock  # noqa: E402
import rowlock.django  # noqa: E402

FAR = "50w"  # a period that does not come due during a test; a new job is due at once


def manage(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


class Test(unittest.TestCase):
    def setUp(self) -> None:
        rowlock.django.declared.cache_clear()

    def test_a_run_closes_the_connections_of_its_thread(self) -> None:
        seen: List[Any] = []

        @rowlock.django.job("closes", every=FAR)
        def closes(run: rowlock.Run) -> None:
            connection = connections["default"]
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            seen.append((connection, connection.connection))

        self.assertEqual(rowlock.django.jobs().run_due(), 1)
        ((connection, session),) = seen
        self.assertIsNotNone(session)
        self.assertIsNone(connection.connection)

    def test_a_function_that_fails_is_recorded_and_closes_too(self) -> None:
        seen: List[Any] = []

        @rowlock.django.job("fails", every=FAR, retry=0)
        def fails(run: rowlock.Run) -> None:
            seen.append(connections["default"])
            connections["default"].ensure_connection()
            raise ValueError("no mail server")

        rowlock.django.jobs().run_due()
        self.assertIsNone(seen[0].connection)
        self.assertRegex(manage("rowlock", "jobs"), "fails +failed .* 1 +every 50w +-")

    def test_the_run_fences_a_transaction_of_django(self) -> None:
        from django.db import transaction

        @rowlock.django.job("fences", every=FAR)
        def fences(run: rowlock.Run) -> None:
            with transaction.atomic():
                run.fence(connections["default"])

        rowlock.django.jobs().run_due()
        self.assertRegex(manage("rowlock", "jobs"), "fences +done ")

    def test_a_declared_function_is_still_a_function(self) -> None:
        @rowlock.django.job("plain", every=FAR)
        def plain(run: Any) -> str:
            return "done"

        self.assertEqual(plain(None), "done")
        with self.assertRaisesRegex(ValueError, "'plain' is defined already"):
            rowlock.django.job("plain", every=FAR)(print)

    def test_ls_shows_holders_and_escapes_what_others_wrote(self) -> None:
        with rowlock.lease(connections["default"], "shown", note="\x1b[2J") as held:
            rows = manage("rowlock", "ls").splitlines()
            held.check()
        self.assertRegex(rows[0], "^NAME +STATE +KIND +MODE +SINCE +WHO +NOTE$")
        (row,) = (row for row in rows if row.startswith("shown "))
        self.assertRegex(row, r"held +lease +exclusive +20.*Z .* \\x1b\[2J$")
        self.assertIn(str(os.getpid()), row)

    def test_another_engine_migrates_and_has_no_lists(self) -> None:
        manage("migrate", "--database", "file")
        for verb in ("ls", "jobs"):
            with self.assertRaisesRegex(CommandError, "on SQLite use the command rowlock"):
                manage("rowlock", verb, "--database", "file")

    def test_without_jobs_run_is_an_error(self) -> None:
        with self.assertRaisesRegex(CommandError, "no app has a jobs.py"):
            manage("rowlock", "run")


if __name__ == "__main__":
    unittest.main()
