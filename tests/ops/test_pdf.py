"""Probability densities against SciPy, gradients, supports, mistakes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS

#: Parameters, samples in and outside of the support, and SciPy's logarithm of the density.
ROWS = {
    "uniform": (
        (0.5, 2.0),
        (0.5, 1.0, 2.0, 0.4, 2.1),
        lambda x, a, b: scipy.stats.uniform.logpdf(x, a, b - a),
    ),
    "normal": ((0.5, 2.0), (-3.0, 0.5, 4.0), lambda x, m, s: scipy.stats.norm.logpdf(x, m, s)),
    "gamma": ((2.5, 3.0), (0.1, 1.0, 4.0, -1.0), lambda x, a, b: scipy.stats.gamma.logpdf(x, a, scale=1 / b)),
    "exponential": ((2.0,), (0.0, 0.3, 3.0, -0.1), lambda x, r: scipy.stats.expon.logpdf(x, scale=1 / r)),
    "poisson": ((2.0,), (0.0, 1.0, 7.0, -1.0), lambda x, r: scipy.stats.poisson.logpmf(x, r)),
    "negative_binomial": (
        (2.5, 0.3),
        (0.0, 1.0, 7.0, -1.0),
        lambda x, k, p: scipy.stats.nbinom.logpmf(x, k, p),
    ),
    "generalized_negative_binomial": (
        (1.5, 0.4),
        (0.0, 1.0, 7.0, -1.0),
        lambda x, m, a: scipy.stats.nbinom.logpmf(x, 1 / a, 1 / (1 + m * a)),
    ),
}
DISCRETE = ("poisson", "negative_binomial", "generalized_negative_binomial")


def run(kind: str, *arrays, **keywords):
    return OPERATORS[f"_random_pdf_{kind}"](*arrays, **keywords)


def arrays(kind: str, dtype=torch.float64):
    parameters, samples, _ = ROWS[kind]
    return [torch.tensor([samples], dtype=dtype), *(torch.tensor([p], dtype=dtype) for p in parameters)]


@pytest.mark.parametrize("kind", [*ROWS, "dirichlet"])
def test_names_and_documentation(kind):
    name = f"random_pdf_{kind}"
    assert callable(getattr(mx.nd, name)) and callable(getattr(mx.sym, name))
    assert OPERATORS[name] is OPERATORS[f"_{name}"]
    assert "Shapes" in OPERATORS[name].kernels.function.__doc__


@pytest.mark.parametrize("kind", ROWS)
def test_densities_are_those_of_scipy(kind):
    parameters, samples, reference = ROWS[kind]
    expected = reference(np.array([samples]), *parameters)
    found = run(kind, *arrays(kind), is_log=True)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(run(kind, *arrays(kind)).numpy(), np.exp(expected), rtol=1e-6)


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("kind", ROWS)
def test_gradients(kind, is_log):
    sample, *parameters = arrays(kind)
    inside = ROWS[kind][2](sample.numpy(), *ROWS[kind][0]) > -np.inf
    border = {"uniform": 1, "exponential": 1}.get(kind)  # a difference would step over it
    inside = torch.tensor(inside)
    if border:
        inside &= ~torch.isin(sample, torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64))
    checked = [sample[inside].reshape(1, -1), *parameters]
    for array in checked[1 if kind in DISCRETE else 0 :]:
        array.requires_grad_()

    def function(*inputs):
        return run(kind, *inputs, is_log=is_log)

    assert torch.autograd.gradcheck(function, checked)
    assert torch.autograd.gradgradcheck(function, checked)
    sample.requires_grad_()
    (gradient,) = torch.autograd.grad(run(kind, sample, *parameters).sum(), sample, allow_unused=True)
    if kind in (*DISCRETE, "uniform"):
        assert gradient is None or not gradient.any()
    else:
        assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("is_log", [False, True])
def test_dirichlet(is_log):
    rng = np.random.default_rng(0)
    sample, alpha = rng.dirichlet((1.0, 2.0, 3.0), (2, 4)), np.array([0.8, 2.0, 3.5])
    expected = [[scipy.stats.dirichlet.logpdf(x / x.sum(), alpha) for x in row] for row in sample]
    x, a = torch.tensor(sample, requires_grad=True), torch.tensor(alpha, requires_grad=True)
    np.testing.assert_allclose(run("dirichlet", x, a, is_log=True).detach().numpy(), expected, rtol=1e-8)
    for parameter in (a, a.detach().repeat(2, 1).requires_grad_()):
        assert torch.autograd.gradcheck(lambda s, p: run("dirichlet", s, p, is_log=is_log), [x, parameter])


@pytest.mark.parametrize(
    ("kind", "sample", "parameters", "expected"),
    [
        ("gamma", [0.0], (1.0, 3.0), [3.0]),
        ("poisson", [0.0, 1.0], (0.0,), [1.0, 0.0]),
        ("negative_binomial", [0.0, 1.0], (2.0, 1.0), [1.0, 0.0]),
    ],
)
def test_borders(kind, sample, parameters, expected):
    """Where MXNet gives nan, the density has a value."""
    found = run(kind, torch.tensor([sample]), *(torch.tensor([value]) for value in parameters))
    assert found.tolist() == [pytest.approx(expected)]


def test_without_dispersion_it_is_a_poisson_distribution():
    one, zero = torch.ones(1), torch.zeros(1)
    counts = torch.tensor([[0.0, 1.0, 5.0]])
    same = run("generalized_negative_binomial", counts, 2 * one, zero)
    torch.testing.assert_close(same, run("poisson", counts, 2 * one))
    mu, alpha = (2 * one).requires_grad_(), zero.clone().requires_grad_()
    run("generalized_negative_binomial", counts, mu, alpha).sum().backward()
    assert torch.isfinite(mu.grad).all() and torch.isfinite(alpha.grad).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("kind", ROWS)
def test_types_and_meta(kind, dtype):
    out = run(kind, *arrays(kind, dtype))
    assert out.dtype is dtype
    exact = run(kind, *(array.double() for array in arrays(kind, dtype)))
    torch.testing.assert_close(out.double(), exact, rtol=1e-2, atol=1e-4)
    meta = run(kind, *(array.to("meta") for array in arrays(kind, dtype)))
    assert meta.shape == out.shape and meta.dtype is dtype
    empty = run(kind, torch.zeros(1, 0, dtype=dtype), *arrays(kind, dtype)[1:])
    assert empty.shape == (1, 0)


@pytest.mark.parametrize("kind", [kind for kind, (parameters, _, _) in ROWS.items() if len(parameters) == 2])
def test_shapes_flow_between_parameters(kind):
    symbol = getattr(mx.sym, f"random_pdf_{kind}")(
        *(mx.sym.var(name) for name in ("sample", "first", "second"))
    )
    assert symbol.infer_shape(sample=(2, 3, 4), first=(2,)) == ([(2, 3, 4), (2,), (2,)], [(2, 3, 4)], [])


@pytest.mark.parametrize(
    ("kind", "shapes", "says"),
    [
        (
            "normal",
            [(2, 3), (3,), (3,)],
            "the shape of mu must be that of the leading axes of sample, (2, 3); got (3,)",
        ),
        (
            "normal",
            [(2, 3), (2,), (1,)],
            "_random_pdf_normal: sigma must have the shape of mu, (2,); got (1,)",
        ),
        ("dirichlet", [(2, 3), (2,)], "and its last axis is that of sample; got (2,)"),
        ("dirichlet", [(2, 3), ()], "and its last axis is that of sample; got ()"),
    ],
)
def test_mistakes_meet_a_sentence(kind, shapes, says):
    with pytest.raises(MXNetError) as caught:
        run(kind, *(torch.ones(shape) for shape in shapes))
    assert says in str(caught.value)


@pytest.mark.parametrize("kind", ROWS)
def test_integers_are_refused(kind):
    with pytest.raises(MXNetError, match=f"_random_pdf_{kind}: sample must be of a floating type; got int32"):
        run(kind, *arrays(kind, torch.int32))
