"""The gradients of an executor's outputs, from which backward starts: from the forms that callers use to tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from torch import Tensor

from ..checks import LIST, check_kind, warn_user
from ..errors import ArgumentError, NameLookupError, ShapeError, near_names
from ..ndarray import NDArray

__all__ = ["HeadGrads", "read_head_grads"]

#: Gradients of the outputs: one array, a list, or a dict from output name to array.
HeadGrads: TypeAlias = "NDArray | Sequence[NDArray | None] | Mapping[str, NDArray | None] | None"


def read_head_grads(
    out_grads: NDArray | Sequence[NDArray | None] | Mapping[str, NDArray | None],
    names: Sequence[str],
    outputs: Sequence[NDArray],
) -> list[Tensor | None]:
    """Return a tensor for each output, on its device and of its type; None where nothing is given.

    >>> import rebind as mx
    >>> read_head_grads({"b": mx.nd.ones((2,))}, ["a", "b"], [mx.nd.zeros((1,)), mx.nd.zeros((2,))])
    [None, tensor([1., 1.])]
    """
    given: Sequence[NDArray | None]
    if isinstance(out_grads, NDArray):
        given = one_for_each([out_grads], names)
    elif isinstance(out_grads, Mapping):
        for name in out_grads:
            if name not in names:
                raise NameLookupError(
                    f"Executor.backward: no output {name!r}{near_names(name, names)} Outputs: {', '.join(names)}."
                )
        # Outputs that are not named get none.
        given = [out_grads.get(name) for name in names]
    else:
        check_kind("Executor.backward", LIST, out_grads=out_grads)
        given = one_for_each(out_grads, names)
    return [
        None if grad is None else _head_grad(name, grad, output)
        for name, grad, output in zip(names, given, outputs, strict=True)
    ]


def one_for_each(given: Sequence[NDArray | None], names: Sequence[str]) -> Sequence[NDArray | None]:
    """Return head gradients for these outputs, in their order; further ones are not used, as in MXNet.

    >>> one_for_each([None, None], ["a", "b"])
    [None, None]
    """
    if len(given) == len(names):
        return given
    text = f"backward: out_grads must hold {len(names)} arrays, for {list(names)}; got {len(given)}"
    if len(given) < len(names):
        raise ShapeError(text)
    warn_user(f"{text}. The first are used.")
    return given[: len(names)]


def _head_grad(name: str, grad: NDArray, output: NDArray) -> Tensor:
    if not isinstance(grad, NDArray):
        raise ArgumentError(
            f"Executor.backward: out_grads: the gradient of {name!r} must be an NDArray; got {grad!r}"
        )
    if grad.shape != output.shape:
        raise ShapeError(
            f"Executor.backward: out_grads: the gradient of {name!r} must have shape {output.shape}; got {grad.shape}"
        )
    like = output.tensor
    # A head gradient may have been recorded itself; this backward ends at it.
    return grad.tensor.detach().to(like.device, like.dtype)
