# SPDX-License-Identifier: Apache-2.0
"""A server whose replicas perform the jobs of the farm, each due run once. See server.yaml."""

import http.server
import os
import signal
import sys

import psycopg
import rowlock


def connect():
    with open(os.environ["ROWLOCK_URL_FILE"]) as file:  # each time: the password may have changed
        return psycopg.connect(file.read().strip(), connect_timeout=5)


jobs = rowlock.Jobs(connect)


@jobs.job("prices", every="10m")
def prices(run):
    for part in ("bonds", "shares"):
        run.check()  # raises Lost: another Pod may perform the run now
        print("prices", part, flush=True)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # of requests and probes; without the database
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"shop\n")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = False  # its end waits for the requests


signal.signal(signal.SIGTERM, lambda *_: sys.exit())
try:
    jobs.start()
    with Server(("", int(os.environ["PORT"])), Page) as server:
        server.serve_forever()
finally:
    jobs.stop(grace=float(os.environ["JOBS_GRACE"]))
