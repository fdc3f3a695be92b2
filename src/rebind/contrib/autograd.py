"""`mx.contrib.autograd`: the names that gradients had before `mx.autograd`, for programs from MXNet 0.9 to 0.11."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from ..autograd import backward as run_backward
from ..autograd import is_training, mark_variables, pause, record, set_recording, set_training
from ..errors import ArgumentError
from ..ndarray import NDArray

__all__ = [
    "TrainingStateScope", "backward", "compute_gradient", "grad", "grad_and_loss", "mark_variables", "set_is_training",
    "test_section", "train_section",
]  # fmt: skip

#: What a function of arrays returns: one, or several.
Outputs: TypeAlias = "NDArray | Sequence[NDArray]"


def set_is_training(is_train: bool) -> bool:
    """Switch training mode and recording, both, on or off; return whether training mode was on.

    >>> set_is_training(True), set_is_training(False)
    (False, True)
    """
    before = is_training()
    set_recording(is_train)
    set_training(is_train)
    return before


class TrainingStateScope:
    """A ``with`` block in training mode, which is recorded; or with ``enter_state=False`` neither.

    >>> import rebind as mx
    >>> with TrainingStateScope(True):
    ...     mx.autograd.is_recording(), mx.autograd.is_training()
    (True, True)
    """

    def __init__(self, enter_state: bool) -> None:
        self._scope = record() if enter_state else pause()

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(self, *error: object) -> None:
        self._scope.__exit__(*error)  # type: ignore[arg-type]  # what Python passes


def train_section() -> AbstractContextManager[None]:
    """Record what is computed in the ``with`` block, in training mode: `autograd.record`.

    >>> import rebind as mx
    >>> x, gradient = mx.nd.array([3.0]), mx.nd.zeros((1,))
    >>> mark_variables([x], [gradient])
    >>> with train_section():
    ...     y = x * x
    >>> backward([y])
    >>> gradient.item()
    6.0
    """
    return TrainingStateScope(True)


def test_section() -> AbstractContextManager[None]:
    """Do not record in the ``with`` block, and do not train: `autograd.pause`.

    >>> import rebind as mx
    >>> with train_section(), test_section():
    ...     mx.autograd.is_training()
    False
    """
    return TrainingStateScope(False)


test_section.__test__ = False  # type: ignore[attr-defined]  # no test, whatever pytest makes of its name


def backward(
    outputs: Sequence[NDArray],
    out_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
) -> None:
    """Compute the gradients of all marked arrays that the list `outputs` was computed from: `autograd.backward`."""
    if not isinstance(outputs, (list, tuple)):
        raise ArgumentError(f"contrib.autograd.backward: outputs must be a list of arrays; got {outputs!r}")
    run_backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """Do what `backward` does, without head gradients."""
    backward(outputs)


def grad_and_loss(
    func: Callable[..., Outputs], argnum: int | Sequence[int] | None = None
) -> Callable[..., tuple[list[NDArray], Outputs]]:
    """Return a function that gives the gradients of `func` for its arguments, and its outputs.

    Parameters
    ----------
    func
        A function of arrays.
    argnum
        For which arguments: a position or several; None for all.

    Examples
    --------
    >>> import rebind as mx
    >>> gradients, loss = grad_and_loss(lambda x: x * x)(mx.nd.array([3.0]))
    >>> gradients[0].item(), loss.item()
    (6.0, 9.0)
    """

    @functools.wraps(func)
    def wrapped(*args: NDArray) -> tuple[list[NDArray], Outputs]:
        positions = range(len(args)) if argnum is None else [argnum] if isinstance(argnum, int) else argnum
        variables = [args[i] for i in positions]
        for each in variables:
            if not isinstance(each, NDArray):
                raise ArgumentError(
                    f"contrib.autograd.grad_and_loss: gradients are of NDArrays; got {each!r}"
                )
        gradients = [each.zeros_like() for each in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        run_backward([outputs] if isinstance(outputs, NDArray) else list(outputs))
        return gradients, outputs

    return wrapped


def grad(
    func: Callable[..., Outputs], argnum: int | Sequence[int] | None = None
) -> Callable[..., list[NDArray]]:
    """Return a function that gives the gradients of `func`; see `grad_and_loss`.

    >>> import rebind as mx
    >>> grad(lambda x, y: x * y, argnum=0)(mx.nd.array([3.0]), mx.nd.array([5.0]))[0].item()
    5.0
    """
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: NDArray) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
