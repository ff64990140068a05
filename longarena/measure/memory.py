"""How much memory a step needs: the peak of live tensor bytes, as the allocator reports them.

Every allocation and release of a step is an event of the profiler. Their running sum, added to what
was allocated before the step (parameters, optimiser state, batch), has a peak. It is exact and
repeatable, and found in a separate pass that affects no timing. The resident size is what the
system sees: it includes the libraries and what the allocator keeps for reuse.

On a GPU the allocator itself records the peak.
"""

import ctypes
import gc
import os
import platform
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from longarena.measure.work import Step

SHARE_OF_FREE_MEMORY = 0.9


@dataclass(frozen=True)
class Allocations:
    """The bytes that a step held at its peak, and at its end."""

    peak_bytes: int
    kept_bytes: int


def allocations(step: Step) -> Allocations:
    """Run a step once and follow the tensors that it makes; its result is kept alive."""
    if torch.cuda.is_available():
        return _cuda_allocations(step)
    profiler = profile(activities=[ProfilerActivity.CPU], profile_memory=True)
    with _silent_errors():
        profiler.start()
        result = step()
        profiler.stop()
    recorded = profiler.profiler
    if recorded is None or recorded.kineto_results is None:
        raise RuntimeError("the profiler recorded nothing")
    events = [e for e in recorded.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    sizes = (event.nbytes() for event in events)  # type: ignore[attr-defined]
    live = list(accumulate(sizes, initial=0))
    del result
    return Allocations(max(live), live[-1])


@contextmanager
def _silent_errors() -> Iterator[None]:
    """Hide the lines that the profiler's library writes to standard error."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _cuda_allocations(step: Step) -> Allocations:
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = step()
    torch.cuda.synchronize()
    peak, after = torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
    del result
    return Allocations(peak - before, after - before)


def total_bytes(tensors: Iterable[Tensor]) -> int:
    """Add up the memory of tensors, each storage once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())


def release_free_memory() -> None:
    """Return to the system what the allocator keeps, so that another process can use it."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    elif platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


def free_memory_bytes() -> int | None:
    """Return what a new process may take without hurting others; None if that is unknown."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    free = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    return int(SHARE_OF_FREE_MEMORY * min([free, *_container_limit()]))


def _container_limit() -> list[int]:
    """Return what is left of a container's memory, if it is limited."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (group / "memory.max").read_text(), (group / "memory.current").read_text()
        return [int(limit) - int(used)]
    except (OSError, ValueError):
        return []


def limit_memory(limit_bytes: int) -> None:
    """Make allocations beyond a limit fail, before the system has to kill some process.

    If the system has to kill one all the same, it should be this one.
    """
    if sys.platform == "linux" and not torch.cuda.is_available():
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
        Path("/proc/self/oom_score_adj").write_text("1000")
