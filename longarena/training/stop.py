"""Stop between two steps: Ctrl-C and SIGTERM only ask for it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(Exception):
    """The run was asked to stop; it has saved itself and says how to go on."""


class StopRequest:
    """Whether the process was asked to stop; a second Ctrl-C ends it at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Turn the signals into a request inside the block; only the main thread gets signals."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, request) for number in numbers}
    # a worker of a sweep starts with Ctrl-C blocked: it must not stop in the middle of an import
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
