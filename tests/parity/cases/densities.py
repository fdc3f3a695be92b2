"""Probability densities."""

from __future__ import annotations

from collections.abc import Iterable

from .case import Case, Input, between, case, integers

#: The parameters of each distribution, and where its samples lie. A uniform sample lies between its bounds.
_DISTRIBUTIONS: dict[str, tuple[Input, dict[str, tuple[float, float]]]] = {
    "uniform": (between(0.5, 1, 2, 3), {"low": (0, 0.4), "high": (1.1, 2)}),
    "normal": (between(-2, 2, 2, 3), {"mu": (-1, 1), "sigma": (0.5, 2)}),
    "gamma": (between(0.3, 3, 2, 3), {"alpha": (0.5, 3), "beta": (0.5, 2)}),
    "exponential": (between(0.1, 3, 2, 3), {"lam": (0.5, 3)}),
    "poisson": (integers(0, 5, 2, 3), {"lam": (0.5, 3)}),
    "negative_binomial": (integers(0, 5, 2, 3), {"k": (1, 4), "p": (0.2, 0.8)}),
    "generalized_negative_binomial": (integers(0, 5, 2, 3), {"mu": (0.5, 3), "alpha": (0.2, 1)}),
}


def densities() -> Iterable[Case]:
    """Every distribution, plain and as a logarithm, with one parameter for each sample and for a row of them."""
    for kind, (sample, ranges) in _DISTRIBUTIONS.items():
        for shape in ((2, 3), (2,)):
            parameters = {name: between(*bounds, *shape) for name, bounds in ranges.items()}
            for is_log in (False, True):
                yield case(f"random_pdf_{kind}", {"sample": sample, **parameters}, is_log=is_log)
    simplex = between(0.1, 0.9, 2, 4, 3)
    for shape in ((3,), (2, 3), (2, 4, 3)):
        for is_log in (False, True):
            yield case(
                "random_pdf_dirichlet", {"sample": simplex, "alpha": between(0.5, 3, *shape)}, is_log=is_log
            )
    yield case(
        "_random_pdf_normal",
        {"sample": between(-1, 1, 3), "mu": between(-1, 1, 3), "sigma": between(1, 2, 3)},
    )


FAMILIES = (densities,)
