"""What the import of rebind gives to its process: each case is a process of its own."""

import ctypes
import json
import os
import subprocess
import sys

import pytest

from rebind import _process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="settings of libgomp and of glibc's malloc")

#: Says what the environment has, and whether memory of an array that is gone is used for the next ones.
SCRIPT = """
import json, os, resource
import rebind
import torch

def new_pages(count):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(count):
        torch.ones(1 << 24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

torch.set_num_threads(1)
# The first few may miss the place of one before, where something small has come to lie since: ten never do.
print(json.dumps([os.environ.get("GOMP_SPINCOUNT"), 5 * new_pages(1) > new_pages(10)]))
"""

THEIRS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "GLIBC_TUNABLES")


def in_a_process(script=SCRIPT, **settings):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in THEIRS and not name.startswith("MALLOC_")
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment | settings, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("settings", "spins", "memory_is_kept"),
    [
        ({}, None, True),
        ({"GOMP_SPINCOUNT": "7"}, "7", True),
        ({"OMP_WAIT_POLICY": "active"}, None, True),
        ({"MALLOC_MMAP_MAX_": "65536"}, None, False),
        ({"GLIBC_TUNABLES": "glibc.malloc.mmap_max=65536"}, None, False),
    ],
    ids=lambda each: ",".join(each) or "nothing set" if isinstance(each, dict) else "",
)
def test_settings_of_the_user_stand(settings, spins, memory_is_kept):
    assert in_a_process(**settings) == [spins, memory_is_kept]


@pytest.mark.parametrize(
    ("watched", "settings", "spins"),
    [(False, {}, "2000"), (True, {}, None), (False, {"OMP_WAIT_POLICY": "active"}, None)],
    ids=["nobody can tell", "told by the system", "as the user sets it"],
)
def test_threads_sleep_soon_where_nobody_can_tell_when_they_should(monkeypatch, watched, settings, spins):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(_process, "can_watch", lambda: watched)
    _process._wait_for_a_short_time()
    assert os.environ.get("GOMP_SPINCOUNT") == spins


FREED = """
import json
import rebind
import torch
from rebind._process import give_back_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

arrays = [torch.ones(1 << 18) for _ in range(64)]
full = resident()
del arrays[:63]
freed = resident()
give_back_freed_memory()
print(json.dumps([full - freed, freed - resident()]))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="glibc's malloc")
@pytest.mark.parametrize(
    ("settings", "given_back"),
    [({}, True), ({"MALLOC_TOP_PAD_": "131072", "MALLOC_MMAP_MAX_": "0"}, False)],
    ids=["as rebind sets it", "as the user sets it"],
)
def test_freed_memory_is_given_back_when_told(settings, given_back):
    # 63 of the 64 MiB that were in use, in pages; the last array keeps the heap from being cut at its end.
    pages = 60 * 2**20 // os.sysconf("SC_PAGE_SIZE")
    at_once, when_told = in_a_process(FREED, **settings)
    assert at_once < pages
    assert (when_told > pages) is given_back
