"""How long threads wait for each other: each case is a process of its own, whose times are made up."""

import json
import os
import subprocess
import sys

import pytest

from rebind.oversubscription import can_watch

pytestmark = pytest.mark.skipif(
    not can_watch() or len(os.sched_getaffinity(0)) < 2,
    reason="needs Linux's times of threads, and two processors",
)

#: Says how long one of two threads looked for more to do after a sum of theirs, in seconds of a processor: on a quiet
#: machine, on a busy one and on a quiet one again; and whether anything watched.
SCRIPT = """
import json, sys, threading, time
import rebind
import torch
from rebind import oversubscription

waiting, passed, wait = 0, 0, float(sys.argv[1])

def times():
    # The system's own say how busy this machine is.
    global waiting, passed
    now = time.monotonic_ns()
    waiting, passed = waiting + (now - passed) * share, now
    return {"1": (now, waiting)}

def looked_for():
    torch.ones(1 << 22).sum()
    summed = time.process_time()
    time.sleep(0.05)
    return time.process_time() - summed

oversubscription._times = times
torch.set_num_threads(2)
# 300,000 looks are 13 ms here, 100 some us; the rest is what the process does beside.
is_expected = (lambda now: now > 1e-3, lambda now: now < found[0] / 3, lambda now: now > 3 * found[1])
found = []
for share, expected in zip((0, 1, 0), is_expected):
    rebind.nd.ones((2, 2)) + 1
    # It looks less often where its own looks take long, as beside other tests.
    give_up = time.monotonic() + wait
    while not expected(now := min(looked_for() for _ in range(5))) and time.monotonic() < give_up:
        pass
    found.append(now)
names = {each.name for each in threading.enumerate()}
print(json.dumps([found, "rebind-oversubscription" in names]))
"""

THEIRS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS")


def said(wait, **settings):
    """Run the script, which waits for so many seconds for each change."""
    environment = {name: value for name, value in os.environ.items() if name not in THEIRS} | settings
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(wait)], env=environment, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def test_threads_wait_for_a_short_time_while_the_machine_is_busy():
    (quiet, busy, quiet_again), watched = said(wait=30)
    assert watched
    assert busy < quiet / 3
    assert busy < quiet_again / 3


@pytest.mark.parametrize("settings", [{"GOMP_SPINCOUNT": "100"}, {"OMP_WAIT_POLICY": "passive"}])
def test_a_setting_of_the_user_stands(settings):
    _, watched = said(wait=0, **settings)
    assert not watched
