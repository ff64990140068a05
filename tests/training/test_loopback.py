"""Processes that share a run on one machine are not open to the network."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# who listens, as the system tells it: local address and state of every socket of this process
LISTENER = """
import os, sys
from pathlib import Path
import torch.distributed as dist
from lightning_fabric import Fabric
from longarena.training.loopback import LoopbackStrategy

fabric = Fabric(accelerator="cpu", devices=2, strategy=LoopbackStrategy())
fabric.launch()
assert fabric.world_size == 2
fabric.barrier()
inodes = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
          if os.path.islink(f"/proc/self/fd/{fd}")}
for name in ("tcp", "tcp6"):
    for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[3] == "0A" and f"socket:[{columns[9]}]" in inodes:
            print("listens " + columns[1].partition(":")[0] + "\\n", end="", flush=True)
fabric.barrier()
# in one piece, since both processes write to the same pipe
print(f"rank {fabric.global_rank}\\n", end="", flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="only Linux tells who listens")
def test_nobody_listens_but_on_loopback(tmp_path):
    script = tmp_path / "listener.py"
    script.write_text(LISTENER)
    ended = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert {line for line in lines if line.startswith("rank")} == {"rank 0", "rank 1"}
    addresses = {line.split()[1] for line in lines if line.startswith("listens")}
    loopback = socket.inet_aton("127.0.0.1")[::-1].hex().upper()
    assert addresses == {loopback}
