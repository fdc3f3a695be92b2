"""Values are compared with MXNet's in ``parity/test_training.py``; here is what is ours, and what is refused."""

import logging

import pytest

from rebind import lr_scheduler
from rebind.errors import ArgumentError, ParameterError
from rebind.lr_scheduler import (
    CosineScheduler,
    FactorScheduler,
    LRScheduler,
    MultiFactorScheduler,
    PolyScheduler,
)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: FactorScheduler(0), "FactorScheduler: step must be >= 1; got 0"),
        (lambda: FactorScheduler(1, 1.5), "factor must be at most 1"),
        (lambda: MultiFactorScheduler([3, 2]), r"increasing numbers >= 1; got \[3, 2\]"),
        (lambda: MultiFactorScheduler([0, 2]), "increasing numbers"),
        (lambda: PolyScheduler(0), "PolyScheduler: max_update must be an int >= 1; got 0"),
        (lambda: CosineScheduler(5.5), "max_update must be an int"),
        (lambda: LRScheduler(0.1, 5, 0.2), "warmup_begin_lr must be at most base_lr, 0.1; got 0.2"),
        (lambda: LRScheduler(0.1, -5), "warmup_steps must be an int >= 0; got -5"),
        (lambda: LRScheduler(0.1, 5, warmup_mode="x"), "one of 'linear', 'constant'; got 'x'"),
        (lambda: LRScheduler(0.1, 5).get_warmup_lr(7), "num_update must be below warmup_steps, 5; got 7"),
    ],
)
def test_bad_settings(make, says):
    with pytest.raises(ParameterError, match=says):
        make()


def test_steps_must_be_a_list():
    with pytest.raises(ArgumentError, match="step must be a list"):
        MultiFactorScheduler(3)


def test_base_has_no_schedule():
    with pytest.raises(NotImplementedError, match="LRScheduler must define scheduled"):
        LRScheduler()(1)


def test_changes_are_logged(caplog):
    caplog.set_level(logging.INFO)
    schedule = FactorScheduler(3, 0.5, base_lr=1.0, stop_factor_lr=0.3)
    for n in range(9):
        schedule(n)
    assert caplog.messages == [
        "Update[4]: Change learning rate to 5.00000e-01",
        "Update[7]: now learning rate arrived at 3.00000e-01, will not change in the future",
    ]


@pytest.mark.parametrize("name", lr_scheduler.__all__)
def test_state_round_trip(name):
    settings = {
        "FactorScheduler": {"step": 3, "factor": 0.5},
        "MultiFactorScheduler": {"step": [3, 7], "factor": 0.1},
        "PolyScheduler": {"max_update": 10},
        "CosineScheduler": {"max_update": 10},
        "LRScheduler": None,
    }[name]
    if settings is None:
        return
    first, second = (getattr(lr_scheduler, name)(base_lr=base, **settings) for base in (1.0, 0.5))
    for n in range(5):
        first(n)
    second.load_state_dict(first.state_dict())
    assert [first(n) for n in range(5, 12)] == [second(n) for n in range(5, 12)]


def test_warmup_may_take_all_updates():
    schedule = PolyScheduler(3, base_lr=1.0, warmup_steps=3)
    assert [schedule(n) for n in range(5)] == pytest.approx([0, 1 / 3, 2 / 3, 0, 0])


def test_old_subclass_with_its_own_call():
    class Halving(LRScheduler):
        def __call__(self, num_update):
            return self.base_lr / 2**num_update

    assert Halving(1.0)(2) == 0.25
