"""The three kinds of storages, and one that dies in the middle of its work."""

import uuid

from longarena.data.server import FileServer, RemoteStorage
from longarena.data.storage import FolderStorage, open_storage


def folder(path):
    return FolderStorage(path / "there")


def address(path):
    # memory is shared by all storages of this process
    return open_storage(f"memory://{uuid.uuid4().hex}/there")


def remote(path):
    return RemoteStorage(FileServer({"runs": path / "there"}), "runs", "the other machine")


KINDS = [folder, address, remote]


class Killed(BaseException):
    """The machine is gone."""


class Dying(FolderStorage):
    """A folder whose writer dies after some writes and removals."""

    def left(self, number):
        object.__setattr__(self, "number", number)
        return self

    def _count(self):
        if self.number == 0:
            raise Killed
        self.left(self.number - 1)

    def write(self, name, pieces):
        self._count()
        super().write(name, pieces)

    def remove(self, name):
        self._count()
        super().remove(name)
