"""The schedules of `mx.misc`; values from MXNet 1.9.1."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from rebind.misc import FactorScheduler, LearningRateScheduler

import rebind as mx


def test_factor_scheduler(caplog: pytest.LogCaptureFixture) -> None:
    schedule = FactorScheduler(5, 0.5)
    with caplog.at_level(logging.INFO):
        rates = [schedule(i) for i in (0, 4, 5, 6, 9, 10, 11, 20)]
    assert rates == [0.01, 0.01, 0.005, 0.005, 0.005, 0.0025, 0.0025, 0.000625]
    assert schedule.old_lr == 0.000625
    assert len(caplog.records) == 3
    assert schedule(0) == 0.01  # the number alone decides


@pytest.mark.parametrize(
    ("step", "rates"),
    [(1, [0.2, 0.1, 0.05, 0.025, 0.0125]), (2, [0.4, 0.2, 0.2, 0.1, 0.1]), (5, [0.4] * 4 + [0.2])],
)
def test_an_optimizer_takes_it(step: int, rates: list[float]) -> None:
    optimizer = mx.optimizer.create("sgd", learning_rate=0.4, lr_scheduler=FactorScheduler(step, 0.5))
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.zeros((1,))
    found = []
    for _ in range(5):
        before = weight.asscalar()
        updater(0, mx.nd.ones((1,)), weight)
        found.append(round(float(before - weight.asscalar()), 5))
    assert found == rates


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: FactorScheduler(0), ValueError, "FactorScheduler: step must be at least 1; got 0"),
        (
            lambda: FactorScheduler(2, 1.5),
            ValueError,
            r"FactorScheduler: factor must be less than 1.*; got 1\.5",
        ),
        (lambda: LearningRateScheduler()(1), NotImplementedError, "LearningRateScheduler must define"),
    ],
)
def test_mistakes(make: Callable[[], object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()
