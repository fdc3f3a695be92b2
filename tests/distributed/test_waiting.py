"""Who of those that are waited for is lost, by their signs of life; the clock is the test's."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest
import torch.distributed as dist

from rebind.distributed import waiting as waiting_module
from rebind.distributed.liveness import Liveness, Sign, Signs
from rebind.distributed.waiting import Waiting, sign_timeout
from rebind.errors import ParameterError

ELSEWHERE = Sign(count=1, host="node1", pid=7, processes="others")


class Clock:
    """A clock that the test sets, and a worker 1 whose signs it gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sign: Sign) -> None:
        self.now, self.sign, self.broken_off = 1000.0, sign, []
        monkeypatch.setattr(waiting_module, "time", SimpleNamespace(monotonic=lambda: self.now))
        self._store = dist.HashStore()
        self.waiting = Waiting(Signs(self._store, 2), patience=10, break_off=self.broken_off.append)
        self.waiting.begin([1])

    def pass_by(self, seconds: float, *, signs: bool, at_once: bool = False) -> None:
        """Let time pass, in which worker 1 gives signs or none; this process looks each second, or at the end."""
        for _ in range(1 if at_once else int(seconds)):
            self.now += seconds if at_once else 1
            if signs:
                self.sign = replace(self.sign, count=self.sign.count + 1)
            self._store.set("sign/1", json.dumps(asdict(self.sign)))
            self.waiting.look()


def own_sign() -> Sign:
    """Return a sign of this very process, which runs."""
    found = Liveness(store := dist.HashStore(), 0, 1)
    found._stop.set()
    return Signs(store, 1).read(0)


def test_a_worker_that_is_silent_is_lost_once(monkeypatch):
    clock = Clock(monkeypatch, ELSEWHERE)
    clock.pass_by(30, signs=True)
    clock.pass_by(9, signs=False)
    assert clock.waiting.lost == {}
    clock.pass_by(9, signs=False)
    assert re.fullmatch(r"no sign of life for 1\d s \(pid 7 on node1\)", clock.waiting.lost[1])
    clock.pass_by(9, signs=False)
    assert clock.broken_off == [1]


def test_one_that_has_ended_but_whose_process_goes_on_is_lost(monkeypatch):
    clock = Clock(monkeypatch, replace(own_sign(), ended="ValueError: no"))
    clock.pass_by(30, signs=False)
    assert clock.waiting.lost == {1: f"ValueError: no (pid {os.getpid()} on {clock.sign.host})"}


@pytest.mark.parametrize("sign", [ELSEWHERE, None], ids=["its machine was asleep", "it is busy"])
def test_who_is_not_lost(monkeypatch, sign):
    clock = Clock(monkeypatch, sign or own_sign())
    clock.pass_by(5, signs=True)
    if sign is None:
        clock.pass_by(60, signs=False)
    else:  # both were stopped, and the other has not given a sign since
        clock.pass_by(60, signs=False, at_once=True)
        clock.pass_by(5, signs=True)
    assert clock.waiting.lost == {} and clock.broken_off == []


def test_each_wait_counts_by_itself(monkeypatch):
    clock = Clock(monkeypatch, ELSEWHERE)
    for _ in range(5):
        clock.pass_by(9, signs=False)
        clock.waiting.end()
        clock.pass_by(9, signs=False)
        clock.waiting.begin([1])
    assert clock.waiting.lost == {}


def test_the_least_time(monkeypatch):
    monkeypatch.setenv("REBIND_SIGN_TIMEOUT", "1")
    with pytest.raises(ParameterError, match=r"REBIND_SIGN_TIMEOUT: must be 3 seconds at least.*; got 1"):
        sign_timeout()
