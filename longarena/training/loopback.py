"""Data-parallel training on one machine that is closed to the network.

torch's meeting place for processes listens on all interfaces, and whoever reaches it can take part.
Here it gets a socket that is bound to loopback, and gloo and NCCL are told to use no other
interface.
"""

import atexit
import os
import socket
import sys
from functools import partial
from typing import Any

import torch.distributed as dist
from lightning_fabric.strategies.ddp import DDPStrategy

LOOPBACK = "127.0.0.1"
INTERFACE = "lo0" if sys.platform == "darwin" else "lo"


class LoopbackStrategy(DDPStrategy):
    """What `strategy="ddp"` does, for processes that are all on this machine."""

    def setup_environment(self) -> None:
        """Meet on loopback; what comes after finds the processes connected."""
        for library in ("GLOO", "NCCL"):
            os.environ.setdefault(f"{library}_SOCKET_IFNAME", INTERFACE)
        environment = self.cluster_environment
        if environment is None or self.parallel_devices is None:
            raise RuntimeError("the processes were not launched")
        rank, number = environment.local_rank(), len(self.parallel_devices)
        store = _store(environment.main_port, rank, number)
        backend = "nccl" if self.parallel_devices[rank].type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=number)
        if backend == "nccl":
            atexit.register(dist.destroy_process_group)
        super().setup_environment()


def _store(port: int, rank: int, number: int) -> Any:
    """Open the meeting place in the first process, or find it."""
    meet = partial(dist.TCPStore, LOOPBACK, port, number)  # type: ignore[attr-defined]
    if rank > 0:
        return meet(is_master=False)
    # the store closes the socket
    listening = socket.create_server((LOOPBACK, port)).detach()
    return meet(is_master=True, master_listen_fd=listening)
