"""What the machine is, and how a process is set up to use it well.

On a CPU the allocator matters: by default glibc returns every large tensor to the system, and the
next one causes page faults again. `keep_large_blocks` raises the thresholds with `mallopt`, so that
memory is reused. This makes the resident size larger than what a mechanism needs.

Records name their machine, so reading records imports this file; torch is therefore imported inside
the functions that need it, not at the top.
"""

import ctypes
import gc
import os
import platform
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from inspect import unwrap
from pathlib import Path
from types import FrameType
from typing import Any

from longarena.errors import UserError
from longarena.options import Natural, Options

# parameters of glibc's mallopt, from malloc.h
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEEP_BELOW_BYTES = 1 << 30


class Machine(Options):
    """What a number was measured on."""

    system: str
    processor: str
    cores: Natural
    threads: Natural
    memory_bytes: Natural
    accelerator: str | None


class Versions(Options):
    """The software that a number was measured with."""

    longarena: str
    python: str
    torch: str
    commit: str | None


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause garbage collection while very many objects are made, all of which stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def set_up(threads: int | None = None) -> None:
    """Prepare this process for computing: threads and allocator."""
    keep_large_blocks()
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def keep_large_blocks() -> bool:
    """Have glibc keep freed blocks of up to 1 GiB for reuse; False where there is no glibc."""
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(mallopt(what, KEEP_BELOW_BYTES) for what in (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD))


@contextmanager
def held_back() -> Iterator[None]:
    """Hold back Ctrl-C inside the block, where numba would swallow it while it compiles."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda *call: asked.append(call))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if asked and callable(before):
            before(*asked[0])


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function, or the original of one that tests have wrapped to check its arguments."""
    from numba import njit

    fast: Callable[..., Any] = njit(cache=True, nogil=True)(unwrap(function))
    return fast


def check_precision(precision: str) -> None:
    """Refuse a precision that this machine only emulates."""
    import torch

    if torch.cuda.is_available():
        if precision == "bf16-mixed" and not torch.cuda.is_bf16_supported(
            including_emulation=False
        ):
            raise UserError("this GPU has no bf16; use --precision 16-mixed or 32")
    elif precision == "16-mixed":
        raise UserError("16-mixed needs a GPU; use --precision 32")
    elif precision == "bf16-mixed" and not _has_bf16():
        raise UserError(
            "this processor has no bf16 instructions and would emulate them hundreds of times "
            "slower; use --precision 32"
        )


def _has_bf16() -> bool:
    """Tell whether the processor computes in bf16 rather than emulating it."""
    import torch

    has_it: bool = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return has_it


def check_compiler() -> None:
    """Refuse to compile where torch finds no C++ compiler; on a GPU it brings its own."""
    import torch

    if torch.cuda.is_available():
        return
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        raise UserError(
            "compiling needs a C++ compiler, and there is none; install g++, name one in the "
            "variable CXX, or leave --compile out"
        ) from None


@cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory_bytes() -> int:
    """Return how much memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def machine() -> Machine:
    """Describe this machine as the process sees it now."""
    import torch

    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        cores=os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        memory_bytes=memory_bytes(),
        accelerator=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    )


def seconds_waited_for_a_core() -> float:
    """Return how long threads of this process waited for a core; 0 where nothing counts it."""
    nanoseconds = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        # a thread may end between the listing and the reading
        with suppress(OSError):
            nanoseconds += int(file.read_text().split()[1])
    return nanoseconds / 1e9


def peak_resident_bytes() -> int:
    """Return the largest resident size that this process has had."""
    try:
        # unlike getrusage, this is not inherited from the process that started this one
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def versions() -> Versions:
    """Name the versions in use, with the commit if this is a checkout."""
    import torch

    from longarena.version import __version__

    return Versions(
        longarena=__version__,
        python=platform.python_version(),
        torch=torch.__version__,
        commit=_commit(),
    )


@cache
def _commit() -> str | None:
    """Return the commit of the checkout that this package is, with `+` if it was changed."""
    root = Path(__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        return subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty=+", "--abbrev=12"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
