"""Gradients of what is computed on arrays: `record`, `backward`, `grad`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .errors import ArgumentError, StateError
from .ndarray import NDArray
from .ndarray.mode import mode
from .ndarray.ndarray import again_is_an_error, head_gradient, run_backward

__all__ = [
    "backward", "grad", "is_recording", "is_training", "mark_variables", "pause", "predict_mode", "record",
    "set_recording", "set_training", "train_mode",
]  # fmt: skip


def is_recording() -> bool:
    """Tell whether operations are being recorded."""
    return mode.recording


def is_training() -> bool:
    """Tell whether operations run in training mode."""
    return mode.training


def set_recording(is_record: bool) -> bool:
    """Switch recording on or off; return what it was."""
    before, mode.recording = mode.recording, bool(is_record)
    return before


def set_training(train_mode: bool) -> bool:
    """Switch training mode on or off; return what it was."""
    before, mode.training = mode.training, bool(train_mode)
    return before


@contextmanager
def _state(recording: bool | None, training: bool | None) -> Iterator[None]:
    before = mode.recording, mode.training
    mode.recording = mode.recording if recording is None else recording
    mode.training = mode.training if training is None else training
    try:
        yield
    finally:
        mode.recording, mode.training = before


def record(train_mode: bool = True) -> Any:
    """Record what is computed in the ``with`` block, for `backward`.

    >>> import rebind as mx
    >>> x = mx.nd.array([1.0, 2.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([2., 4.], dtype=float32)
    """
    return _state(True, train_mode)


def pause(train_mode: bool = False) -> Any:
    """Do not record in the ``with`` block."""
    return _state(False, train_mode)


def train_mode() -> Any:
    """Run in training mode in the ``with`` block."""
    return _state(None, True)


def predict_mode() -> Any:
    """Run in inference mode in the ``with`` block."""
    return _state(None, False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Let `backward` write the gradients of `variables` into the arrays `gradients`.

    Parameters
    ----------
    variables, gradients
        An array, or a list of as many arrays.
    grad_reqs
        ``'write'``, ``'add'`` or ``'null'``, for all or one for each.

    Examples
    --------
    >>> import rebind as mx
    >>> x, gradient = mx.nd.array([3.0]), mx.nd.zeros((1,))
    >>> mark_variables(x, gradient)
    >>> with record():
    ...     y = x * x
    >>> backward(y)
    >>> gradient.item()
    6.0
    """
    variables = [variables] if isinstance(variables, NDArray) else list(variables)
    gradients = [gradients] if isinstance(gradients, NDArray) else list(gradients)
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(requests):
        raise ArgumentError(
            f"autograd.mark_variables: needs as many gradients and grad_reqs as variables; got {len(variables)}, "
            f"{len(gradients)} and {len(requests)}"
        )
    for variable, gradient, request in zip(variables, gradients, requests, strict=True):
        variable._mark(gradient, request)


def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Compute the gradients of all marked arrays that `heads` were computed from.

    Parameters
    ----------
    heads
        An array, or a list of them.
    head_grads
        Their gradients; None stands for ones.
    retain_graph
        Keep what was recorded, so that `backward` can be called again.
    train_mode
        Accepted; the mode is that of the recording.
    """
    heads = [heads] if isinstance(heads, NDArray) else list(heads)
    if head_grads is not None:
        head_grads = [head_grads] if isinstance(head_grads, NDArray) else list(head_grads)
    run_backward(heads, head_grads, retain_graph)


def grad(
    heads: Any,
    variables: Any,
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> Any:
    """Return the gradients of `variables` as new arrays; with `create_graph` they can be differentiated again.

    >>> import rebind as mx
    >>> x = mx.nd.array([2.0])
    >>> x.attach_grad()
    >>> with record():
    ...     y = x * x * x
    ...     slope = grad(y, x, create_graph=True)
    >>> slope.backward()
    >>> x.grad.item()
    12.0
    """
    heads = [heads] if isinstance(heads, NDArray) else list(heads)
    several = not isinstance(variables, NDArray)
    variables = list(variables) if several else [variables]
    head_grads = [None] * len(heads) if head_grads is None else head_grads
    head_grads = [head_grads] if isinstance(head_grads, NDArray) else list(head_grads)
    if len(head_grads) != len(heads):
        raise ArgumentError(
            f"autograd.grad: needs {len(heads)} head_grads, as many as heads; got {len(head_grads)}"
        )
    leaves = [variable._tensor if variable._leaf is None else variable._leaf for variable in variables]
    outputs = [head._tensor if head._leaf is None else head._leaf for head in heads]
    if not all(leaf.requires_grad for leaf in leaves):
        raise StateError("autograd.grad: variables must be marked with attach_grad() before they are used")
    if not all(output.requires_grad for output in outputs):
        raise StateError("autograd.grad: heads must be computed from marked arrays while recording")
    gradients = [
        torch.ones_like(output) if given is None else head_gradient(output, given)
        for output, given in zip(outputs, head_grads, strict=True)
    ]
    with again_is_an_error():
        found = torch.autograd.grad(
            outputs,
            leaves,
            gradients,
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    arrays = [
        NDArray(torch.zeros_like(leaf) if value is None else value, variable.device)
        for value, leaf, variable in zip(found, leaves, variables, strict=True)
    ]
    return arrays if several else arrays[0]
