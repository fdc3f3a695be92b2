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
    "normal": (lambda source: draws.normal((COUNT,), source, mean=1.0, std=2.0), stats.norm(1, 2)),
    "normal64": (lambda source: draws.normal((COUNT,), source, dtype=torch.float64), stats.norm(0, 1)),
}
each_draw = pytest.mark.parametrize("name", DRAWS)


def seeded(number: int) -> draws.Source:
    source = draws.derive(torch.tensor(number), 1)
    assert source is not None
    return source


# From the known-answer tests of the authors' library, Random123: key, counter, words.
KNOWN_ANSWERS = [
    ((0, 0), (0, 0), (0x6B20_0159, 0x99BA_4EFE)),
    ((0xFFFF_FFFF, 0xFFFF_FFFF), (0xFFFF_FFFF, 0xFFFF_FFFF), (0x1CB9_96FC, 0xBB00_2BE7)),
    ((0x1319_8A2E, 0x0370_7344), (0x243F_6A88, 0x85A3_08D3), (0xC492_3A9C, 0x483D_F7A0)),
]


@pytest.mark.parametrize(("key", "counter", "words"), KNOWN_ANSWERS)
def test_the_cipher(key: tuple[int, int], counter: tuple[int, int], words: tuple[int, int]) -> None:
    def word(number: int) -> Tensor:
        return torch.tensor(number, dtype=torch.int64).to(torch.int32)

    found = draws._threefry(draws.Seed(*map(word, key)), *map(word, counter))
    assert tuple(int(each) & 0xFFFF_FFFF for each in found) == words


@each_draw
@pytest.mark.parametrize("number", [0, 1, 2**62, -5])
def test_distributions(name: str, number: int) -> None:
    draw, distribution = DRAWS[name]
    for source in (seeded(number), torch.Generator().manual_seed(1)):
        assert stats.kstest(draw(source).double().numpy(), distribution.cdf).pvalue > 1e-3


@each_draw
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
    drawn = draws.bernoulli((COUNT,), probability, seeded(1), dtype=torch.float16)
    assert drawn.dtype is torch.float16 and set(drawn.unique().tolist()) <= {0.0, 1.0}
    assert abs(drawn.float().mean().item() - probability) < 0.02


@pytest.mark.parametrize(("low", "high"), [(0, 6), (-3, 3), (5, 6)])
def test_integers(low: int, high: int) -> None:
    drawn = draws.integers(low, high, (COUNT,), seeded(1), dtype=torch.int32)
    counts = torch.bincount(drawn - low, minlength=high - low)
    assert drawn.dtype is torch.int32 and len(counts) == high - low
    assert high - low == 1 or stats.chisquare(counts.numpy()).pvalue > 1e-3


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
