"""Measuring the time of a forward or backward pass of a symbol."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from ..checks import an, check_kind
from ..device import Device, as_device
from ..errors import ParameterError
from ..executor import GradReqs
from ..ndarray import array
from ..shapes import Shape
from ..symbol import Symbol
from .defaults import ArrayLike, as_numpy

__all__ = ["check_speed"]


def check_speed(
    sym: Symbol,
    location: Mapping[str, ArrayLike] | None = None,
    ctx: Device | None = None,
    N: int = 20,
    grad_req: GradReqs | None = None,
    typ: str = "whole",
    **kwargs: Shape,
) -> float:
    """Return the seconds that one pass of a symbol takes, after one to warm up.

    Parameters
    ----------
    sym
        The symbol.
    location
        The arguments by name; random ones of the shapes in `kwargs` if None.
    ctx
        The device, the default one if None.
    N
        How many passes are timed.
    grad_req
        As in `simple_bind`; ``'write'`` if None.
    typ
        ``'whole'`` is forward and backward, ``'forward'`` forward only.
    **kwargs
        Shapes of the inputs by name, when there is no `location`.

    Examples
    --------
    >>> import rebind as mx
    >>> check_speed(mx.sym.var("x") ** 2, x=(2, 3), N=2) > 0
    True
    """
    check_kind("check_speed", an(Symbol), sym=sym)
    if typ not in ("whole", "forward"):
        raise ParameterError(f"check_speed: typ must be 'whole' or 'forward'; got {typ!r}")
    if N < 1:
        raise ParameterError(f"check_speed: N must be >= 1; got {N}")
    device = as_device(ctx, "check_speed: ctx")
    shapes = kwargs if location is None else {name: np.shape(as_numpy(v)) for name, v in location.items()}
    executor = sym.simple_bind(device, "write" if grad_req is None else grad_req, **shapes)
    for name, argument in executor.arg_dict.items():
        given = None if location is None else location.get(name)
        argument[:] = np.random.normal(size=argument.shape) if given is None else as_numpy(given)
    # With head gradients the symbol need not be a loss.
    head_grads = [array(np.ones(out.shape), device, out.dtype) for out in executor.forward()]

    def once() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(head_grads)
        for output in executor.outputs:
            output.wait_to_read()  # a GPU computes in the background: without it only the launches were measured

    once()
    start = time.perf_counter()
    for _ in range(N):
        once()
    return (time.perf_counter() - start) / N
