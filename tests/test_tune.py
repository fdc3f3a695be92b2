"""What `rebind.tune` sets, and what it leaves: most cases are processes of their own."""

import ctypes
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rebind as mx

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="settings of libgomp and of glibc's malloc")

#: What a user may have set.
THEIRS = ("REBIND_TUNE", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "GLIBC_TUNABLES")

#: Says what the environment has, and whether memory of an array that is gone is used for the next ones.
STATE = """
import json, mmap, os, resource

def new_pages(make, count=1):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(count):
        make()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def state(size=1 << 24):
    # The first few may miss the place of one before, where something small has come to lie since: ten never do.
    mapped = new_pages(lambda: torch.frombuffer(mmap.mmap(-1, 4 * size), dtype=torch.float32).fill_(1))
    return [os.environ.get("GOMP_SPINCOUNT"), new_pages(lambda: torch.ones(size), 10) < 5 * mapped]
"""


def in_a_process(script: str, *command: str, **settings: str) -> list:
    """Return what a new process prints, read as JSON."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in THEIRS and not name.startswith("MALLOC_")
    }
    done = subprocess.run(
        [sys.executable, *(command or ("-c",)), script],
        env=environment | {"OMP_NUM_THREADS": "1"} | settings,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("settings", "spins", "memory_is_reused"),
    [
        ({}, None, False),
        pytest.param({"REBIND_TUNE": "0"}, None, False, marks=pytest.mark.slow),
        ({"REBIND_TUNE": "1"}, None, True),
        ({"REBIND_TUNE": "1", "GOMP_SPINCOUNT": "7"}, "7", True),
        pytest.param({"REBIND_TUNE": "1", "OMP_WAIT_POLICY": "active"}, None, True, marks=pytest.mark.slow),
        pytest.param({"REBIND_TUNE": "1", "MALLOC_MMAP_MAX_": "65536"}, None, False, marks=pytest.mark.slow),
        ({"REBIND_TUNE": "1", "GLIBC_TUNABLES": "glibc.malloc.mmap_max=65536"}, None, False),
    ],
    ids=lambda each: ",".join(each) or "nothing set" if isinstance(each, dict) else "",
)
def test_the_environment_has_it_called_at_import_and_settings_of_the_user_stand(
    settings: dict[str, str], spins: str | None, memory_is_reused: bool
) -> None:
    script = f"import rebind, torch\n{STATE}\nprint(json.dumps(state()))"
    assert in_a_process(script, **settings) == [spins, memory_is_reused]


def test_all_is_undone_and_set_again() -> None:
    states = in_a_process(
        f"""
import rebind, torch
{STATE}
states = [state()]
tuning = rebind.tune()
states.append(state())
tuning.undo()
tuning.undo()
states.append(state(1 << 26))  # larger than what lies free between arrays, which is used again in any case
with rebind.tune() as tuning:
    states.append(state())
print(json.dumps([*[reused for _, reused in states], repr(tuning)]))
"""
    )
    assert states == [False, True, False, True, "<Tuning: nothing is set>"]


def test_a_second_call_sets_nothing_and_undoes_nothing() -> None:
    said = in_a_process(
        f"""
import rebind, torch
{STATE}
first = rebind.tune()
with rebind.tune() as second:
    words = [repr(first), repr(second)]
print(json.dumps([*words, state()[1], repr(second)]))
"""
    )
    assert said == [
        "<Tuning: memory: freed memory is used again>",
        "<Tuning: not memory: an earlier call has set it>",
        True,
        "<Tuning: nothing is set>",
    ]


@pytest.mark.parametrize(
    ("command", "spins"),
    [
        (["-c", "from rebind_command import main; main()", "run"], None),  # the command `rebind`
        (["-m", "rebind", "run"], None),  # Python imports PyTorch with the package before it looks at flags
        (["-m", "rebind", "launch", "-n", "1", sys.executable], None),
    ],
    ids=["run", "as a module", "launch"],
)
def test_programs_that_the_command_starts_are_tuned(
    command: list[str], spins: str | None, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import rebind, torch\n{STATE}\nprint(json.dumps(state()))")
    assert in_a_process(str(program), *command) == [spins, True]
    assert in_a_process(str(program), *command, REBIND_TUNE="0") == [None, False]


def test_only_what_is_asked_for_is_set() -> None:
    assert repr(mx.tune(memory=False)) == "<Tuning: nothing is set>"


def test_another_malloc_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("rebind.tune")
    monkeypatch.setattr(module, "_malloc", lambda: None)
    monkeypatch.setattr(module, "_active", {})
    for name in [name for name in os.environ if name.startswith(("MALLOC_", "GLIBC_TUNABLES"))]:
        monkeypatch.delenv(name)
    assert mx.tune().not_done == {"memory": "malloc is not glibc's"}


FREED = """
import json
import rebind
import torch
from rebind.tune import give_back_freed_memory

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
    ("settings", "is_given_back"),
    [({"REBIND_TUNE": "1"}, True), ({"MALLOC_TOP_PAD_": "131072", "MALLOC_MMAP_MAX_": "0"}, False)],
    ids=["as tune sets it", "as the user sets it"],
)
def test_freed_memory_is_given_back_when_told(settings: dict[str, str], is_given_back: bool) -> None:
    # 63 of the 64 MiB that were in use, in pages; the last array keeps the heap from being cut at its end.
    pages = 60 * 2**20 // os.sysconf("SC_PAGE_SIZE")
    at_once, when_told = in_a_process(FREED, **settings)
    assert at_once < pages
    assert (when_told > pages) is is_given_back
