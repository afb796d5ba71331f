# SPDX-License-Identifier: Apache-2.0
"""python -m rowlock install URL, or --print DIALECT."""

import argparse
import os
import sys

from ._install import DIALECTS, install, schema


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m rowlock")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="install")
    verb = verbs.add_parser("install", help="create rowlock's tables and functions, if missing")
    verb.add_argument(
        "url", nargs="?", default=os.environ.get("ROWLOCK_URL"),
        help="postgresql://, mariadb:// or mysql://; default: $ROWLOCK_URL",
    )  # fmt: skip
    verb.add_argument(
        "--print", dest="dialect", choices=DIALECTS,
        help="print the statements instead; needs no database",
    )  # fmt: skip
    verb.add_argument("--role", help="with --print: another account, which gets the GRANTs")
    given = parser.parse_args()
    if given.role and not given.dialect:
        verb.error("--role requires --print")
    if not given.dialect and not given.url:
        verb.error("a URL is missing")
    try:
        if given.dialect:
            sys.stdout.write(schema(given.dialect, given.role))
        else:
            new = install(given.url)
            print("rowlock is installed" if new else "rowlock is installed already")
    except Exception as error:
        print(f"rowlock: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
