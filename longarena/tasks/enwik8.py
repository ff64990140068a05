"""enwik8: the first hundred million bytes of the English Wikipedia, read byte by byte.

The text is the dump of 3 March 2006 as it is, with the markup of its articles and of the XML around
them. It is the text of the Hutter Prize for compression and of many papers, all of which split it
into 90, 5 and 5 million bytes in its order.

Data:   http://mattmahoney.net/dc/textdata.html; enwik8.zip, the file in it, or either as .gz
Choice: only the official bytes are accepted, by their checksum. Any other text is a task by its
        path (`textfile.py`), so no number from it can stand in this column.
"""

import hashlib
from collections.abc import Iterator
from typing import ClassVar

from longarena.data.archive import Source
from longarena.data.dataset import Chunk
from longarena.data.download import Download
from longarena.errors import UserError
from longarena.tasks.base import TaskCard
from longarena.tasks.stream import Stream, cut, split_sizes


class Enwik8(Stream):
    """Prediction of the next byte of Wikipedia."""

    download = Download("http://mattmahoney.net/dc/enwik8.zip", None)
    num_bytes: ClassVar[int] = 100_000_000
    checksum: ClassVar[str] = "a1fa5ffddb56f4953e226637dabbb36a"

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="enwik8",
            version=1,
            title="enwik8 (Wikipedia, bytes)",
            question="Which byte comes next?",
            sizes=split_sizes(self.num_bytes),
            splits="90, 5 and 5 million bytes in the order of the file",
            source="enwik8.zip",
            licence="GNU Free Documentation License",
            citation="Mahoney (2006), http://mattmahoney.net/dc/textdata.html",
        )

    def read(self, source: Source) -> Iterator[tuple[str, Chunk]]:
        # one byte more than there may be, so that a longer file is noticed and not read
        content = source.content(self.num_bytes + 1)
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if found != self.checksum:
            size = "more" if len(content) > self.num_bytes else f"{len(content):,}"
            raise UserError(
                f"{source.path} is not enwik8: it has {size} bytes with the md5 {found} instead "
                f"of {self.num_bytes:,} with {self.checksum}; fetch {self.download.address}, or "
                "train on any text by its path: longarena train FILE linear"
            )
        yield from cut(content)
