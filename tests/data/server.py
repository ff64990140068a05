"""A file server on the loopback address that can be told to misbehave."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Behaviour:
    """What the server has and does; `requests` are the Range headers that it got."""

    def __init__(self, content):
        self.content = content
        self.requests = []
        self.break_after = []  # of each coming request: bytes to send before hanging up
        self.failures = []  # of each coming request: a status to answer instead
        self.has_range = True


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        behaviour = self.server.behaviour
        behaviour.requests.append(self.headers.get("Range"))
        if behaviour.failures:
            self.send_error(behaviour.failures.pop(0))
            return
        start = self._start() if behaviour.has_range else 0
        total = len(behaviour.content)
        if start >= total:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{total}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(total - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        self.end_headers()
        end = start + behaviour.break_after.pop(0) if behaviour.break_after else total
        self.wfile.write(behaviour.content[start:end])

    def _start(self):
        return int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(content):
    """Serve one file under any name; give its address and the behaviour."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.behaviour = Behaviour(content)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/data.tar.gz", server.behaviour
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
