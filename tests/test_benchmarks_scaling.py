"""The model of training over many workers: it agrees with what is known, and messages grow as it says."""

import doctest
import importlib
import sys

import pytest
from benchmarks.exchange_costs import FORMS, Costs
from benchmarks.step_model import ENGINES, Cluster, fastest_step
from benchmarks.step_profile import Group, Parameter, Profile

#: Two layers of 50 MB, whose gradients are ready in turn.
PROFILE = Profile(
    [Parameter("first", 50_000_000, 0.09), Parameter("second", 50_000_000, 0.06)],
    [Group(50_000_000, 0.015, 0.03), Group(50_000_000, 0.015, 0.03)],
    backward_end=0.09,
    update=0.01,
)
FREE = dict.fromkeys(FORMS, Costs(0.0, 0.0, 0.0, 0.0, 0.0, 1.0))


@pytest.mark.parametrize("name", ["exchange_costs", "scaling_table", "step_model", "step_profile"])
def test_the_examples_of_a_module_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"benchmarks.{name}")).failed == 0


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        # 25 ms carry a layer one way. The first layer's gradients wait for the second's weights; updates take 2.5 ms.
        ("rebind", 0.06 + 0.025 + 0.0025 + 2 * 0.025 + 0.0025 + 0.025),
        # Each layer is more than a bucket. Nobody shares the update.
        ("DDP", 0.06 + 2 * 0.05 + 0.01),
        # The second layer is gathered while the first is computed, and the first again while the second is.
        ("FSDP2", 0.025 + 0.025 + 0.015 + 0.03 + 0.03 + 0.025 + 0.005),
    ],
)
def test_a_step_of_two_workers_is_what_its_bytes_take(engine: str, expected: float) -> None:
    cluster = Cluster(2, 1e9, 0.0, FREE, copies=False)
    assert ENGINES[engine](PROFILE, cluster) == pytest.approx(expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_is_slower_with_more_workers_and_never_faster_than_the_bound(engine: str) -> None:
    costs = dict.fromkeys(FORMS, Costs(1e-4, 1e-4, 1e-4, 1e-10, 2.0, 1.05))
    seconds = []
    for workers in (2, 8, 64, 1024):
        cluster = Cluster(workers, 12.5e9, 2e-5, costs, copies=True)
        seconds.append(ENGINES[engine](PROFILE, cluster))
        assert seconds[-1] >= fastest_step(PROFILE, cluster)
    assert seconds == sorted(seconds)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a socket's count of packets is read as Linux gives it")
def test_the_messages_of_a_worker_grow_no_faster_than_the_logarithm_of_their_number() -> None:
    from benchmarks.message_counts import count_messages

    (_, of_four), (_, of_sixteen) = count_messages([4, 16])
    assert 0 < of_sixteen.arrays <= 2 * of_four.arrays  # log 16 = 2 log 4
    assert of_sixteen.packets <= 2.2 * of_four.packets  # some are cut in two
