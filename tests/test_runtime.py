import platform
import signal
import subprocess
import sys

import pytest
import torch
from torch._inductor import config

from longarena import runtime
from longarena.errors import UserError

REUSE = """
import ctypes, resource, sys
from longarena.runtime import keep_large_blocks
if sys.argv[1] == "kept":
    assert keep_large_blocks()
libc, size = ctypes.CDLL(None), 1 << 26
libc.malloc.restype = ctypes.c_void_p

def fill_a_block():
    block = ctypes.c_void_p(libc.malloc(ctypes.c_size_t(size)))
    ctypes.memset(block, 1, size)
    libc.free(block)

fill_a_block()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    fill_a_block()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

PEAK = """
from longarena.runtime import peak_resident_bytes
block = bytearray(b"x") * (peak_resident_bytes() + (1 << 20))
assert peak_resident_bytes() >= len(block)
"""

# two processes on one core, for a fifth of a second
CROWD = """
import os, time
from longarena.runtime import seconds_waited_for_a_core
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
is_child = os.fork() == 0
before, start = seconds_waited_for_a_core(), time.monotonic()
while time.monotonic() < start + 0.2:
    pass
if not is_child:
    print(seconds_waited_for_a_core() - before, time.monotonic() - start)
"""


def page_faults(how):
    command = [sys.executable, "-c", REUSE, how]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
def test_memory_that_is_kept_is_not_faulted_in_anew():
    # a system short of memory takes idle pages away from a process that waits for a core
    assert min(page_faults("kept") for _ in range(3)) < page_faults("returned") / 2


def test_a_precision_that_would_be_emulated_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(runtime, "_has_bf16", lambda: False)
    with pytest.raises(UserError, match="use --precision 32"):
        runtime.check_precision("bf16-mixed")
    with pytest.raises(UserError, match="16-mixed needs a GPU"):
        runtime.check_precision("16-mixed")
    runtime.check_precision("32")


def test_a_processor_with_bf16_may_use_it(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(runtime, "_has_bf16", lambda: True)
    runtime.check_precision("bf16-mixed")


def test_compiling_without_a_compiler_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    nothing = config.patch({"cpp.cxx": ("no-such-compiler",)})
    with nothing, pytest.raises(UserError, match=r"install g\+\+") as caught:
        runtime.check_compiler()
    assert "\n" not in str(caught.value)


def test_the_machine_and_the_versions_are_named():
    machine, versions = runtime.machine(), runtime.versions()
    assert machine.cores >= 1
    assert machine.threads == torch.get_num_threads()
    assert machine.memory_bytes > 1 << 28
    assert machine.processor
    assert versions.torch == torch.__version__


def test_the_peak_grows_with_what_is_touched():
    # this process may have had a peak that nothing small reaches again
    subprocess.run([sys.executable, "-c", PEAK], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts it")
def test_who_shares_a_core_waits_for_it():
    command = [sys.executable, "-c", CROWD]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    waited, passed = map(float, done.stdout.split())
    assert 0.05 < waited < passed


def test_an_interrupt_is_held_back_until_the_block_has_ended():
    done = []
    with pytest.raises(KeyboardInterrupt), runtime.held_back():
        signal.raise_signal(signal.SIGINT)
        done.append("all of it")
    assert done == ["all of it"]


def test_without_an_interrupt_nothing_is_held_back():
    before = signal.getsignal(signal.SIGINT)
    with runtime.held_back():
        pass
    assert signal.getsignal(signal.SIGINT) is before
