"""Fetch an archive once: resume after a break, check it, keep it under <home>/downloads.

pooch decides whether a download is needed and verifies its checksum; the transfer itself is ours,
because pooch starts over after every break. What has arrived is kept in `<name>.partial`, and an
HTTP Range request asks for the rest, in this process or in the next one.

Choice: a server that ignores Range sends all of it again. A transfer that has begun survives an
        outage of half a minute; one that never begins is given up at the second attempt.
"""

import time
from pathlib import Path

import pooch
import requests
from requests.exceptions import (
    ChunkedEncodingError,
    ConnectionError,
    HTTPError,
    RequestException,
    Timeout,
)

from longarena.data.download import Download
from longarena.data.files import waiting
from longarena.errors import UserError
from longarena.progress import Progress

MEGABYTE = 1 << 20
BLOCK = 1 << 16  # at most this much is lost in a break
ATTEMPTS_TO_BEGIN, ATTEMPTS_TO_GO_ON = 2, 6
PAUSE_SECONDS = 1.0  # doubled from one attempt to the next
TIMEOUT_SECONDS = (10.0, 60.0)  # to connect, and between two pieces
PARTIAL_CONTENT, RANGE_NOT_SATISFIABLE, REFUSALS = 206, 416, range(400, 500)


def fetch(download: Download, folder: Path, progress: Progress) -> Path:
    """Return the verified file in `folder`; download it unless it is there."""
    pooch.get_logger().setLevel("WARNING")
    transfer = _Transfer(folder / f"{download.name}.partial", progress)
    remedy = f"fetch {download.address} yourself and hand it over: --source PATH"

    def say() -> None:
        progress.say(f"waiting for another process that downloads {download.name}")

    with waiting(folder / f".{download.name}.lock", say):
        try:
            path = pooch.retrieve(
                download.address,
                known_hash=download.checksum,
                fname=download.name,
                path=folder,
                downloader=transfer,
            )
        except _Refusal as error:
            raise UserError(f"the server answered {error}; {remedy}") from None
        except RequestException as error:
            reason = str(error) if isinstance(error, HTTPError) else "no connection"
            raise UserError(f"{reason}{transfer.kept()}; try again, or {remedy}") from None
        except ValueError:
            raise UserError(
                f"{download.name} arrived damaged (its checksum is not {download.checksum}); "
                f"try again, or {remedy}"
            ) from None
    return Path(path)


class _Refusal(Exception):
    """The server will not give the file, however often it is asked."""


class _Transfer:
    """pooch's downloader: appends to a partial file until it is whole, then hands it over."""

    def __init__(self, partial: Path, progress: Progress) -> None:
        self.partial, self.progress = partial, progress

    def __call__(self, address: str, output: str, _pooch: object) -> None:
        failures, patience, furthest = 0, ATTEMPTS_TO_BEGIN, self.num_bytes
        while True:
            try:
                self._continue(address)
                break
            except (ConnectionError, ChunkedEncodingError, Timeout, HTTPError):
                if self.num_bytes > furthest:
                    failures, patience, furthest = 0, ATTEMPTS_TO_GO_ON, self.num_bytes
                failures += 1
                if failures == patience:
                    raise
                time.sleep(PAUSE_SECONDS * 2 ** (failures - 1))
        self.partial.replace(output)

    @property
    def num_bytes(self) -> int:
        """How many bytes have arrived, now or earlier."""
        return self.partial.stat().st_size if self.partial.exists() else 0

    def kept(self) -> str:
        """Say what a later attempt can build on."""
        return f" ({self.num_bytes / MEGABYTE:.1f} MB are kept)" if self.num_bytes else ""

    def _continue(self, address: str) -> None:
        """Ask for what is missing and append it."""
        done = self.num_bytes
        # identity: a server that unpacks .gz on the way would break sizes and checksum
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
        with requests.get(
            address, headers=headers, stream=True, timeout=TIMEOUT_SECONDS
        ) as response:
            if response.status_code == RANGE_NOT_SATISFIABLE:
                if response.headers.get("Content-Range") == f"bytes */{done}":
                    return  # nothing was missing
                self.partial.unlink()
                raise ConnectionError("what was kept is not part of the file; starting over")
            if response.status_code in REFUSALS:
                raise _Refusal(f"{response.status_code} {response.reason}")
            response.raise_for_status()
            self._append(response, done if response.status_code == PARTIAL_CONTENT else 0)

    def _append(self, response: requests.Response, done: int) -> None:
        total = done + int(response.headers.get("Content-Length", 0))
        label = f"downloading {self.partial.stem} (MB)"
        with (
            self.progress.bar(label, total // MEGABYTE, done // MEGABYTE) as bar,
            self.partial.open("ab" if done else "wb") as file,
        ):
            for block in response.iter_content(BLOCK):
                file.write(block)
                bar.advance((done + len(block)) // MEGABYTE - done // MEGABYTE)
                done += len(block)
        if done < total:
            raise ConnectionError(f"the server stopped after {done} of {total} bytes")
