"""Join a Ray cluster, and reach the files of the sweep's machine from all others.

Choice: Ray reports nothing to anybody and starts no dashboard.
"""

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from longarena.data.server import FileServer, Part
from longarena.data.storage import StorageError
from longarena.errors import UserError

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

LOOPBACK = "127.0.0.1"
# on Linux, too, this makes Ray use loopback as the machine's address and listen nowhere else
STAY_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}

Result = TypeVar("Result")


def connect(address: str) -> None:
    """Join a Ray cluster as a driver."""
    if address.startswith("ray://"):
        raise UserError(
            f"{address} leads into the cluster from outside, where the files of this machine "
            "cannot be handed out; start it on a machine of the cluster, with --address HOST:PORT"
        )
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    is_here = address.partition(":")[0] == LOOPBACK
    if is_here:
        os.environ.update(STAY_ON_LOOPBACK)
    try:
        import ray  # noqa: PLC0415 - an extra that most never need
    except ImportError:
        raise UserError(
            "--on ray needs Ray; run: pip install 'longarena[ray]', or leave --on ray out"
        ) from None
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _node_ip_address=LOOPBACK if is_here else None,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"no Ray cluster at {address}: {reason}; start one, see docs") from None


def only_on(node: str) -> "NodeAffinitySchedulingStrategy":
    """Have Ray do something on one machine and on no other."""
    from ray.util.scheduling_strategies import (  # noqa: PLC0415 - see `connect`
        NodeAffinitySchedulingStrategy,
    )

    return NodeAffinitySchedulingStrategy(node, soft=False)


class RayServer:
    """The server of files on the machine of the sweep, from any machine of the cluster."""

    def __init__(self, actor: "ActorHandle[FileServer]") -> None:
        self._actor = actor

    def names(self, root: str, folder: str) -> list[str]:
        return call(lambda: self._actor.names.remote(root, folder))

    def read(self, root: str, name: str, start: int) -> bytes:
        return call(lambda: self._actor.read.remote(root, name, start))

    def write(self, root: str, name: str, part: Part) -> None:
        call(lambda: self._actor.write.remote(root, name, part))

    def remove(self, root: str, name: str) -> None:
        call(lambda: self._actor.remove.remote(root, name))

    def say(self, line: str) -> None:
        call(lambda: self._actor.say.remote(line))


def call(method: "Callable[[], ObjectRef[Result]]") -> Result:
    """Call the server; its errors are those of a storage."""
    import ray  # noqa: PLC0415 - see `connect`

    try:
        return ray.get(method())
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UserError):
            raise error.cause from None
        raise StorageError(str(error).strip().splitlines()[-1]) from None
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise StorageError(f"another machine cannot be reached: {reason}") from None
