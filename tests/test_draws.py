"""Random numbers from seeds: the distributions are right, and each use of a seed draws its own."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from scipy import stats
from torch import Tensor

from rebind import draws, generators

COUNT = 20_000
DRAWS: dict[str, tuple[Callable[[draws.Source], Tensor], stats.rv_continuous]] = {
    "uniform": (lambda source: draws.uniform((COUNT,), source, low=-1.0, high=3.0), stats.uniform(-1, 4)),
    "uniform64": (lambda source: draws.uniform((COUNT,), source, dtype=torch.float64), stats.uniform(0, 1)),
    "normal": (lambda source: draws.normal((COUNT,), source, loc=1.0, scale=2.0), stats.norm(1, 2)),
    "normal64": (lambda source: draws.normal((COUNT,), source, dtype=torch.float64), stats.norm(0, 1)),
    "exponential": (lambda source: draws.exponential((COUNT,), source), stats.expon()),
    "gamma": (lambda source: draws.gamma(torch.full((COUNT,), 2.5), source), stats.gamma(2.5)),
}


def seeded(number: int) -> draws.Source:
    source = draws.derive(torch.tensor(number), 1)
    assert source is not None
    return source


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("number", [0, 1, 2**62, -5])
def test_distributions(name: str, number: int) -> None:
    draw, distribution = DRAWS[name]
    for source in (seeded(number), torch.Generator().manual_seed(1)):
        assert stats.kstest(draw(source).double().numpy(), distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers_again(name: str) -> None:
    draw, _ = DRAWS[name]
    assert torch.equal(draw(seeded(7)), draw(seeded(7)))
    assert not torch.equal(draw(seeded(7)), draw(seeded(8)))


def test_uses_of_one_seed_are_independent() -> None:
    seed = torch.tensor(3)
    columns = torch.stack([draws.normal((COUNT,), draws.derive(seed, number)) for number in range(8)])
    correlation = torch.corrcoef(columns) - torch.eye(8)
    assert correlation.abs().max() < 5 / math.sqrt(COUNT)


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_bernoulli(probability: float) -> None:
    drawn = draws.bernoulli((COUNT,), seeded(1), probability, dtype=torch.float16)
    assert drawn.dtype is torch.float16 and set(drawn.unique().tolist()) <= {0.0, 1.0}
    assert abs(drawn.float().mean().item() - probability) < 0.02


@pytest.mark.parametrize(("low", "high"), [(0, 6), (-3, 3), (5, 6)])
def test_integers(low: int, high: int) -> None:
    drawn = draws.integers((COUNT,), seeded(1), low, high, dtype=torch.int32)
    counts = torch.bincount(drawn - low, minlength=high - low)
    assert drawn.dtype is torch.int32 and len(counts) == high - low
    assert high - low == 1 or stats.chisquare(counts.numpy()).pvalue > 1e-3


@pytest.mark.parametrize("seeded", [True, False])
def test_what_is_drawn_for_each_element_of_an_array(seeded: bool) -> None:
    source = draws.derive(torch.tensor(1), 0) if seeded else torch.Generator().manual_seed(1)
    rates = torch.tensor([[0.0], [4.0]]).expand(2, COUNT)
    counts = draws.poisson(rates, source)
    assert counts[0].eq(0).all() and abs(counts[1].mean() - 4) < 0.1 and abs(counts[1].var() - 4) < 0.2
    chosen = draws.multinomial(torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 3.0]]), COUNT, source)
    assert chosen[0].eq(1).all() and abs(chosen[1].float().mean() - 1.5) < 0.05
    order = draws.permutation(100, source)
    assert order.sort().values.tolist() == list(range(100)) and order.tolist() != list(range(100))


def test_a_compiler_draws_the_same() -> None:
    def step(seed: Tensor) -> list[Tensor]:
        sources = [draws.derive(seed, number) for number in range(8)]
        return [
            draws.uniform((5,), sources[0], low=-1.0, high=3.0),
            draws.normal((5,), sources[1], dtype=torch.float64),
            draws.exponential((5,), sources[2]),
            draws.bernoulli((5,), sources[3], 0.5, dtype=torch.float16),
            draws.integers((5,), sources[4], -3, 3, dtype=torch.int32),
            draws.gamma(torch.ones(5), sources[5]),
            draws.multinomial(torch.ones(2, 3), 5, sources[6]),
            draws.permutation(5, draws.derive(sources[7], 1)),
        ]

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for number in (3, -7):
        for found, wanted in zip(compiled(torch.tensor(number)), step(torch.tensor(number)), strict=True):
            assert found.dtype is wanted.dtype and torch.equal(found, wanted)


def test_a_seed_must_be_derived_before_use() -> None:
    with pytest.raises(TypeError, match="derive"):
        draws.uniform((2,), torch.tensor(1))


def test_the_seed_of_a_step_is_the_same_after_a_resume() -> None:
    generators.seed(4)
    generators.step_seed()
    state = generators.state_dict()
    wanted = [generators.step_seed() for _ in range(3)]
    generators.seed(9)
    generators.load_state_dict(state)
    assert [generators.step_seed() for _ in range(3)] == wanted
