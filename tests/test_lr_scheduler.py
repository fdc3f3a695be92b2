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
    ("make", "error", "says"),
    [
        (lambda: FactorScheduler(0), ParameterError, "FactorScheduler: step must be >= 1; got 0"),
        (lambda: FactorScheduler(1, 1.5), ParameterError, "factor must be at most 1"),
        (lambda: MultiFactorScheduler([3, 2]), ParameterError, r"increasing numbers >= 1; got \[3, 2\]"),
        (lambda: MultiFactorScheduler([0, 2]), ParameterError, "increasing numbers"),
        (lambda: MultiFactorScheduler(3), ArgumentError, "step must be a list"),
        (lambda: PolyScheduler(0), ParameterError, "PolyScheduler: max_update must be an int >= 1; got 0"),
        (lambda: CosineScheduler(5.5), ParameterError, "max_update must be an int"),
        (
            lambda: LRScheduler(0.1, 5, 0.2),
            ParameterError,
            "warmup_begin_lr must be at most base_lr, 0.1; got 0.2",
        ),
        (lambda: LRScheduler(0.1, -5), ParameterError, "warmup_steps must be an int >= 0; got -5"),
        (
            lambda: LRScheduler(0.1, 5, warmup_mode="x"),
            ParameterError,
            "one of 'linear', 'constant'; got 'x'",
        ),
        (
            lambda: LRScheduler(0.1, 5).get_warmup_lr(7),
            ParameterError,
            "num_update must be below warmup_steps, 5; got 7",
        ),
        (lambda: LRScheduler()(1), NotImplementedError, "LRScheduler must define scheduled"),
    ],
)
def test_bad_input(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_changes_are_logged(caplog):
    caplog.set_level(logging.INFO)
    schedule = FactorScheduler(3, 0.5, base_lr=1.0, stop_factor_lr=0.3)
    for n in range(9):
        schedule(n)
    assert caplog.messages == [
        "Update[4]: Change learning rate to 5.00000e-01",
        "Update[7]: now learning rate arrived at 3.00000e-01, will not change in the future",
    ]


SETTINGS = {
    "FactorScheduler": {"step": 3, "factor": 0.5},
    "MultiFactorScheduler": {"step": [3, 7], "factor": 0.1},
    "PolyScheduler": {"max_update": 10},
    "CosineScheduler": {"max_update": 10},
}


def test_every_schedule_has_settings():
    assert {*SETTINGS, "LRScheduler"} == set(lr_scheduler.__all__)  # the base has no schedule


@pytest.mark.parametrize("name", SETTINGS)
def test_state_round_trip(name):
    first, second = (getattr(lr_scheduler, name)(base_lr=base, **SETTINGS[name]) for base in (1.0, 0.5))
    for n in range(5):
        first(n)
    second.load_state_dict(first.state_dict())
    assert [first(n) for n in range(5, 12)] == [second(n) for n in range(5, 12)]


class Halving(LRScheduler):
    """As in old scripts, with a call of its own."""

    def __call__(self, num_update):
        return self.base_lr / 2**num_update


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        pytest.param(
            PolyScheduler(3, base_lr=1.0, warmup_steps=3), [0, 1 / 3, 2 / 3, 0, 0], id="warmup-to-the-end"
        ),
        pytest.param(Halving(1.0), [1, 0.5, 0.25], id="subclass-with-its-own-call"),
    ],
)
def test_rates(schedule, rates):
    assert [schedule(n) for n in range(len(rates))] == pytest.approx(rates)
