"""Random operators: their moments, their seeds, and goodness of fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import torch

import rebind as mx
from rebind.draws import derive
from rebind.errors import MXNetError
from rebind.ops import OPERATORS

DISTRIBUTIONS = {
    "uniform": ({"low": -1.0, "high": 3.0}, scipy.stats.uniform(-1, 4)),
    "normal": ({"loc": 3.0, "scale": 0.5}, scipy.stats.norm(3, 0.5)),
    "exponential": ({"lam": 2.0}, scipy.stats.expon(scale=0.5)),
    "gamma": ({"alpha": 2.0, "beta": 3.0}, scipy.stats.gamma(2, scale=3)),
    "poisson": ({"lam": 4.0}, scipy.stats.poisson(4)),
    "negative_binomial": ({"k": 3, "p": 0.4}, scipy.stats.nbinom(3, 0.4)),
    "generalized_negative_binomial": ({"mu": 2.0, "alpha": 0.5}, scipy.stats.nbinom(2, 0.5)),
}


def seeded(seed=7):
    return torch.Generator().manual_seed(seed)


def fits(draws, distribution):
    """Tell whether draws come from a distribution, but for one time in a thousand."""
    if isinstance(distribution.dist, scipy.stats.rv_continuous):
        return scipy.stats.kstest(draws, distribution.cdf).pvalue > 1e-3
    edges = np.arange(0, int(distribution.ppf(0.995)) + 1)
    seen = np.array([*((draws == n).sum() for n in edges), (draws > edges[-1]).sum()])
    expected = np.array([*distribution.pmf(edges), distribution.sf(edges[-1])]) * len(draws)
    return scipy.stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-3


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_fit_the_distribution(name):
    parameters, distribution = DISTRIBUTIONS[name]
    op = OPERATORS[f"_random_{name}"]
    draws = op(**op.parse({**parameters, "shape": (20000,)}), generator=seeded())
    assert draws.dtype is torch.float32
    assert fits(draws.numpy().astype("float64"), distribution)
    again = op(**op.parse({**parameters, "shape": (20000,)}), generator=seeded())
    assert torch.equal(draws, again)
    like = OPERATORS[f"_random_{name}_like"]
    data = torch.zeros(100, 200, dtype=torch.float64)
    drawn = like(data, **like.parse(parameters), generator=seeded())
    assert drawn.shape == data.shape and drawn.dtype is data.dtype
    assert fits(drawn.numpy().ravel(), distribution)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_one_distribution_for_each_element(name):
    parameters, distribution = DISTRIBUTIONS[name]
    op = OPERATORS[f"_sample_{name}"]
    arrays = [torch.tensor([value, value]) for value in map(float, parameters.values())]
    draws = op(*arrays, shape=(10000,), generator=seeded())
    assert draws.shape == (2, 10000)
    assert all(fits(row.numpy().astype("float64"), distribution) for row in draws)


def test_randint():
    draws = OPERATORS["_random_randint"](low=2, high=5, shape=(3000,), generator=seeded())
    assert sorted(set(draws.tolist())) == [2, 3, 4] and draws.dtype is torch.int32


def test_multinomial():
    data = torch.tensor([[0.2, 0.8], [1.0, 0.0]], requires_grad=True)
    chosen, logs = OPERATORS["_sample_multinomial"](data, shape=(5000,), get_prob=True, generator=seeded())
    assert chosen.shape == logs.shape == (2, 5000)
    assert abs(chosen[0].float().mean() - 0.8) < 0.03 and not chosen[1].any()
    logs.sum().backward()
    assert data.grad[1].tolist() == [5000.0, 0.0]


def test_multinomial_never_draws_what_has_no_weight():
    data = torch.zeros(1000)
    data[::7] = torch.rand(143, generator=seeded()) ** 8  # weights of many sizes
    op = OPERATORS["_sample_multinomial"]
    chosen = op(data, shape=(20000,), generator=seeded()).long()
    assert bool((data[chosen] > 0).all())
    seen = np.bincount(chosen.numpy(), minlength=1000)[::7]
    shares = data[::7].double().numpy()
    often = shares > 1e-3 * shares.sum()
    rest = [seen[~often].sum()], [shares[~often].sum()]
    expected = np.concatenate([shares[often], rest[1]])
    seen = np.concatenate([seen[often], rest[0]])
    assert scipy.stats.chisquare(seen, expected / expected.sum() * 20000).pvalue > 1e-3


@pytest.mark.parametrize("weights", [[0.0, 0.0], [0.5, -0.5, 1.0], [1.0, float("inf")], [float("nan"), 1.0]])
def test_multinomial_refuses_what_are_no_weights(weights):
    with pytest.raises(RuntimeError, match=r"prob|sum"):
        OPERATORS["_sample_multinomial"](torch.tensor(weights), shape=(3,), generator=seeded())


def test_shuffle():
    data = torch.arange(20).reshape(10, 2)
    shuffled = OPERATORS["_shuffle"](data, generator=seeded())
    assert not torch.equal(data, shuffled) and torch.equal(data, shuffled[shuffled[:, 0].argsort()])


def test_unique_draws():
    """The first draw follows the distribution; all of a row differ; each vain draw counts."""
    op = OPERATORS["_sample_unique_zipfian"]
    drawn, trials = op(**op.parse({"range_max": 6, "shape": (20000, 3)}), generator=seeded())
    assert drawn.dtype is torch.int64 and trials.shape == (20000,)
    assert all(len(set(row)) == 3 for row in drawn[:200].tolist())
    shares = np.log((np.arange(6) + 2) / (np.arange(6) + 1)) / np.log(7)
    seen = np.bincount(drawn[:, 0].numpy(), minlength=6)
    assert scipy.stats.chisquare(seen, shares * len(drawn)).pvalue > 1e-3
    rng = np.random.default_rng(0)
    expected = []
    for _ in range(4000):
        row, count = [], 0
        while len(row) < 3:
            count += 1
            number = rng.choice(6, p=shares)
            row += [number] if number not in row else []
        expected.append((count, *row))
    expected = np.array(expected)
    assert abs(trials.double().mean() - expected[:, 0].mean()) < 0.15
    assert abs(trials.double().std() - expected[:, 0].std()) < 0.3
    for position in (1, 2):
        seen = np.bincount(drawn[:, position].numpy(), minlength=6) / len(drawn)
        assert np.abs(seen - np.bincount(expected[:, 1 + position], minlength=6) / 4000).max() < 0.03
    everything, _ = op(**op.parse({"range_max": 5, "shape": (2, 5)}), generator=seeded())
    assert everything.sort(1).values.tolist() == [[0, 1, 2, 3, 4]] * 2


@pytest.mark.parametrize("shape", [None, (5,), (2, 7), (0, 3)])
def test_unique_draws_that_cannot_be(shape):
    with pytest.raises(MXNetError, match="_sample_unique_zipfian: shape must"):
        OPERATORS["_sample_unique_zipfian"].parse({"range_max": 6, "shape": shape})


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
@pytest.mark.parametrize("kind", ["_random_{}", "_random_{}_like", "_sample_{}"])
def test_draws_from_a_seed_fit_the_distribution(name, kind):
    """Where a compiler traces there is a seed in place of a generator."""
    parameters, distribution = DISTRIBUTIONS[name]
    op = OPERATORS[kind.format(name)]
    inputs, given = {
        "_random_{}": ([], {**parameters, "shape": (20000,)}),
        "_random_{}_like": ([torch.zeros(20000)], parameters),
        "_sample_{}": ([torch.tensor(float(value)) for value in parameters.values()], {"shape": (20000,)}),
    }[kind]
    drawn, again = (op(*inputs, **op.parse(given), generator=derive(torch.tensor(5), 0)) for _ in range(2))
    assert torch.equal(drawn, again) and fits(drawn.numpy().astype("float64"), distribution)


@pytest.mark.parametrize("space", (mx.nd.random, mx.sym.random))
def test_nd_and_sym_have_the_same_functions(space):
    assert {name: getattr(space, name).__name__ for name in space.__all__} == {
        name: name for name in mx.nd.random.__all__
    }


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("poisson", {"lam": 0}),
        ("negative_binomial", {"k": 0, "p": 0.5}),
        ("generalized_negative_binomial", {"mu": 0}),
    ],
)
def test_counts_of_mean_zero_are_zeros(kind: str, given: dict[str, float]) -> None:
    assert getattr(mx.nd.random, kind)(**given, shape=(50,)).asnumpy().tolist() == [0] * 50
