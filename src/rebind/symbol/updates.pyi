"""Functions of `sym.contrib` over update operators.

Written by ``make stubs`` from the table of operators; not to be edited.
"""

from .symbol import Symbol

def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0,
    clip_gradient: float = -1,
    out: Symbol | None = None,
    name: str | None = None,
    **kwargs: float,
) -> Symbol:
    """Update a weight by AdamW."""

def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0,
    clip_gradient: float = -1,
    out: Symbol | None = None,
    name: str | None = None,
    **kwargs: float,
) -> Symbol:
    """Update a weight by AdamW."""
