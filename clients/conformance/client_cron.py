# SPDX-License-Identifier: Apache-2.0
"""client_cron.py URL: that of the jobs of the command: `rowlock cron`, and `rowlock job` for "due".

A command a line on standard input, an answer a line: the calls of client.py that concern jobs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List

URL = sys.argv[1]
ROWLOCK = os.environ["ROWLOCK"]
BODY = """#!/bin/sh
cd "$1" || exit
echo 37 mails
trap 'echo >told; exit 1' TERM
case $2 in
waits) echo "$ROWLOCK_TOKEN $ROWLOCK_ATTEMPT" >new; mv new began; until [ -e end ]; do sleep 0.05; done ;;
fails) echo no mail server; exit 1 ;;
esac
"""


class Client:
    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.jobs: List[List[str]] = []  # the words of each, after `rowlock job`
        self.daemon: Any = None
        self.write("body", BODY)
        os.chmod(self.path("body"), 0o700)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: str) -> None:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def forget(self, *names: str) -> None:
        for name in names:
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))

    def job(self, name: str, body: str, fresh: int = 0, **terms: Any) -> None:
        if fresh:
            self.jobs = []
        words = [name]
        for key, value in sorted(terms.items(), key=lambda term: term[0] not in ("every", "cron")):
            key = {"zone": "tz"}.get(key, key).replace("_", "-")
            value = f"{value}ms" if key in ("ttl", "backoff", "max-run") else str(value)
            words += [f"--{key}", value]
        self.jobs.append([*words, "--", self.path("body"), self.folder, body])

    def due(self) -> Dict[str, Any]:
        command = [ROWLOCK, "--db", URL, "job", "-E", "77"]
        ended = [subprocess.run([*command, *job], stdout=sys.stderr).returncode for job in self.jobs]
        if 64 in ended:
            raise ValueError("a wrong argument")
        return {"number": sum(status != 77 for status in ended)}

    def serve(self, grace: int = 60000) -> None:
        self.forget("began", "told", "end")
        lines = []
        for name, how, schedule, *words in self.jobs:
            schedule = f"every {schedule}" if how == "--every" else schedule
            lines.append(" ".join([schedule, name, *words]))
        self.write("crontab", "\n".join([*lines, ""]))
        self.daemon = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", ROWLOCK, "--db", URL, "cron", "--grace", f"{grace}ms", self.path("crontab")],
            stdout=sys.stderr,
        )

    def until(self, condition: Callable[[], bool], limit: int) -> None:
        end = time.monotonic() + limit / 1000
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("nothing happens")
            time.sleep(0.02)

    def began(self, limit: int) -> Dict[str, Any]:
        self.until(lambda: os.path.exists(self.path("began")), limit)
        with open(self.path("began"), encoding="utf-8") as file:
            token, attempt = file.read().split()
        self.forget("began")
        return {"token": int(token), "number": int(attempt) - 1}

    def lost(self, limit: int) -> Dict[str, Any]:
        self.until(lambda: os.path.exists(self.path("told")), limit)
        return {"is": "lost"}

    def end(self) -> None:
        self.write("end", "")

    def stop(self) -> None:
        self.daemon.terminate()
        self.daemon.wait()


def say(answer: Dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


client = Client()
say({"is": "ok", "pid": os.getpid(), "program": "rowlock"})
while line := sys.stdin.readline():
    command = json.loads(line)
    try:
        say({"is": "ok", **(getattr(client, command.pop("do"))(**command) or {})})
    except Exception as error:
        say({"is": "error", "text": str(error)})
