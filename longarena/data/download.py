"""Where an archive is published; `fetch.py` gets it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Download:
    """Where an archive is published, and its checksum (`md5:...`) if that is published too."""

    address: str
    checksum: str | None

    @property
    def name(self) -> str:
        """The file's name, by which it is kept."""
        return self.address.rpartition("/")[2]
