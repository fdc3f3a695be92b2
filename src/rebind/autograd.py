"""Gradients of computations on arrays: `record`, `backward`, `grad`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import torch
from torch import Tensor

from ._torch.tensors import is_zero_tensor
from .absent import old_names
from .checks import FLAG, check_kind
from .device import Device
from .errors import ArgumentError, ShapeError, StateError, shown
from .graph import Application, Entry, Node, Variable, depth_first
from .mode import mode
from .ndarray import NDArray
from .ndarray.base import wrap
from .ndarray.gradients import GradReq, explain_second_backward, mark, roots, run_backward
from .ndarray.history import free, nodes_behind, opaque_node, source_of
from .ndarray.integer_gradients import wrap_recorded
from .ndarray.storage_tensor import StorageTensor, as_dense, as_tensor
from .params import format_value
from .symbol import Symbol

__all__ = [
    "Function", "backward", "get_symbol", "grad", "is_recording", "is_training", "mark_variables", "pause",
    "predict_mode", "record", "set_recording", "set_training", "train_mode",
]  # fmt: skip


#: An array, or several.
Arrays: TypeAlias = "NDArray | Sequence[NDArray]"
Forward: TypeAlias = Callable[[Sequence[Tensor]], Sequence[Tensor]]
Backward: TypeAlias = Callable[[Sequence[Tensor], Sequence[bool]], Sequence["Tensor | None"]]


class _Context(Protocol):
    """What torch hands to a function's forward, and again to its backward."""

    user_backward: Backward
    training: bool
    needs_input_grad: Sequence[bool]

    def mark_non_differentiable(self, *outputs: Tensor) -> None: ...


def is_recording() -> bool:
    """Return whether operations are being recorded.

    >>> with record():
    ...     is_recording()
    True
    """
    return mode.recording


def is_training() -> bool:
    """Return whether operations run in training mode.

    >>> with train_mode():
    ...     is_training()
    True
    """
    return mode.training


def set_recording(is_record: bool) -> bool:
    """Switch recording on or off; return what it was.

    >>> before = set_recording(True)
    >>> before, set_recording(before)
    (False, True)
    """
    check_kind("autograd.set_recording", FLAG, is_record=is_record)
    before, mode.recording = mode.recording, bool(is_record)
    return before


def set_training(train_mode: bool) -> bool:
    """Switch training mode on or off; return what it was.

    >>> before = set_training(True)
    >>> before, set_training(before)
    (False, True)
    """
    check_kind("autograd.set_training", FLAG, train_mode=train_mode)
    before, mode.training = mode.training, bool(train_mode)
    return before


@contextmanager
def _state(recording: bool | None, training: bool | None) -> Iterator[None]:
    before = mode.recording, mode.training
    # None leaves a mode as it is.
    mode.recording = mode.recording if recording is None else recording
    mode.training = mode.training if training is None else training
    try:
        yield
    finally:
        mode.recording, mode.training = before


def record(train_mode: bool = True) -> AbstractContextManager[None]:
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


def pause(train_mode: bool = False) -> AbstractContextManager[None]:
    """Do not record in the ``with`` block.

    >>> with record():
    ...     with pause():
    ...         is_recording()
    False
    """
    return _state(False, train_mode)


def train_mode() -> AbstractContextManager[None]:
    """Run in training mode in the ``with`` block.

    >>> import rebind as mx
    >>> with train_mode():
    ...     bool((mx.nd.Dropout(mx.nd.ones((100,))).asnumpy() == 0).any())
    True
    """
    return _state(None, True)


def predict_mode() -> AbstractContextManager[None]:
    """Run in inference mode in the ``with`` block.

    >>> import rebind as mx
    >>> with record(), predict_mode():
    ...     bool((mx.nd.Dropout(mx.nd.ones((100,))).asnumpy() == 0).any())
    False
    """
    return _state(None, False)


def mark_variables(
    variables: Arrays, gradients: Arrays, grad_reqs: GradReq | Sequence[GradReq] = "write"
) -> None:
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
    who = "autograd.mark_variables"
    variables, gradients = _as_list(variables, who, "variables"), _as_list(gradients, who, "gradients")
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(requests):
        raise ArgumentError(
            f"autograd.mark_variables: needs as many gradients and grad_reqs as variables; got {len(variables)}, "
            f"{len(gradients)} and {len(requests)}"
        )
    for variable, gradient, request in zip(variables, gradients, requests, strict=True):
        if gradient.shape != variable.shape:
            raise ShapeError(
                f"{who}: a gradient must have its variable's shape, {variable.shape}; got {gradient.shape}"
            )
        mark(variable, gradient, request)


def backward(
    heads: Arrays,
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
    train_mode: bool = True,
) -> None:
    """Compute the gradients of all marked arrays that `heads` were computed from.

    Parameters
    ----------
    heads
        An array, or a list of them.
    head_grads
        Their gradients; None means ones.
    retain_graph
        Whether to leave the record in memory, so that `backward` can be called again.
    train_mode
        Accepted; the mode is that of the recording.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.array([3.0])
    >>> x.attach_grad()
    >>> with record():
    ...     y, z = x * 2, x * 5
    >>> backward([y, z], [None, mx.nd.array([10.0])])
    >>> x.grad.item()
    52.0
    """
    given = [head_grads] if isinstance(head_grads, NDArray) else head_grads
    run_backward(_as_list(heads, "autograd.backward", "heads"), given, retain_graph)


def grad(
    heads: Arrays,
    variables: Arrays,
    head_grads: NDArray | Sequence[NDArray | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[NDArray]:
    """Return the gradients of `variables` as new arrays; with `create_graph` they can be differentiated again.

    It is a list for one variable too, as in MXNet 1.9.1, whose documentation says otherwise.

    >>> import rebind as mx
    >>> x = mx.nd.array([2.0])
    >>> x.attach_grad()
    >>> with record():
    ...     y = x * x * x
    ...     (slope,) = grad(y, x, create_graph=True)
    >>> slope.backward()
    >>> x.grad.item()
    12.0
    """
    heads = _as_list(heads, "autograd.grad", "heads")
    variables = _as_list(variables, "autograd.grad", "variables")
    if head_grads is None:
        head_grads = [None] * len(heads)
    elif isinstance(head_grads, NDArray):
        head_grads = [head_grads]
    if len(head_grads) != len(heads):
        raise ArgumentError(
            f"autograd.grad: needs {len(heads)} head_grads, as many as heads; got {len(head_grads)}"
        )
    # torch knows arrays by the tensors that it recorded.
    leaves = [variable.recorded_tensor for variable in variables]
    if not all(leaf.requires_grad for leaf in leaves):
        raise StateError("autograd.grad: variables must be marked with attach_grad() before they are used")
    outputs, gradients = roots(heads, head_grads, "autograd.grad")
    nodes = nodes_behind(heads)
    found: Sequence[Tensor | None] = [None] * len(leaves)
    with explain_second_backward():
        if outputs:
            found = torch.autograd.grad(
                outputs,
                leaves,
                gradients,
                retain_graph=retain_graph,
                create_graph=create_graph,
                allow_unused=True,  # a variable that no head depends on has a gradient of zeros
            )
    arrays: list[NDArray] = [
        # torch may return a zero without memory, which cannot be read or written.
        wrap_recorded(
            # Dense, whatever the storage type of the variable, as in MXNet.
            torch.zeros_like(leaf) if value is None or is_zero_tensor(value) else as_dense(value),
            variable.storage.dtype,
            variable.device,
        )
        for value, leaf, variable in zip(found, leaves, variables, strict=True)
    ]
    if create_graph:
        for array in arrays:
            array.history = opaque_node("autograd.grad", heads)
    if not (create_graph if retain_graph is None else retain_graph):
        free(nodes)
    return arrays


def _as_list(arrays: Arrays, who: str, name: str) -> Sequence[NDArray]:
    if isinstance(arrays, NDArray):
        return [arrays]
    if not isinstance(arrays, (list, tuple)) or not all([isinstance(each, NDArray) for each in arrays]):
        raise ArgumentError(f"{who}: {name} must be an NDArray or a list of them; got {shown(arrays)}")
    return arrays


def get_symbol(x: NDArray) -> Symbol:
    """Return the recorded computation of `x` as a `Symbol`.

    Arrays from which recording started become its arguments: ``var0`` where they have a gradient, else ``null1``,
    counted in the order of the symbol's nodes; operators are ``node_0`` and so on.

    Raises
    ------
    StateError
        When `x` was not computed while recording, or by something other than operators.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.nd.array([2.0])
    >>> x.attach_grad()
    >>> with record():
    ...     y = (x * x + 1).sum()
    >>> symbol = get_symbol(y)
    >>> symbol.list_arguments(), symbol.eval(var0=x)[0].item()
    (['var0'], 5.0)
    """
    if not isinstance(x, NDArray):
        raise ArgumentError(f"autograd.get_symbol: x must be an NDArray; got {x!r}")
    if x.history is None:
        raise StateError("autograd.get_symbol: x must be computed while recording (autograd.record())")
    last = source_of(x)
    # By identity: a node that is used twice is one node.
    nodes: dict[int, Node] = {}
    variables = operators = 0
    for recorded in depth_first([last[0]], lambda node: [source for source, _ in node.sources]):
        if recorded.opaque:
            raise StateError(f"autograd.get_symbol: a symbol can hold operators only; got {recorded.opaque}")
        if recorded.operator is None:  # an array that no recorded operator computed
            nodes[id(recorded)] = Variable(f"{'var' if recorded.marked else 'null'}{variables}")
            variables += 1
            continue
        op, p = recorded.operator, recorded.params
        # As in a symbol that was composed: only what differs from the defaults is an attribute.
        given = {
            key: format_value(value)
            for key, value in p.items()
            if key not in op.signature.defaults or op.signature.defaults[key] != value
        }
        inputs = [Entry(nodes[id(source)], index) for source, index in recorded.sources]
        nodes[id(recorded)] = Application(op, f"node_{operators}", tuple(inputs), p, given)
        operators += 1
    return Symbol([Entry(nodes[id(last[0])], last[1])])


class Function:
    """A computation on arrays whose gradient the user writes.

    Derive from it, compute in `forward` and return the inputs' gradients from `backward`. An instance is for
    one call: it holds what `save_for_backward` was given.

    Examples
    --------
    >>> import rebind as mx
    >>> class Sigmoid(mx.autograd.Function):
    ...     def forward(self, x):
    ...         y = 1 / (1 + mx.nd.exp(-x))
    ...         self.save_for_backward(y)
    ...         return y
    ...
    ...     def backward(self, dy):
    ...         (y,) = self.saved_tensors
    ...         return dy * y * (1 - y)
    >>> x = mx.nd.zeros((1,))
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Sigmoid()(x)
    >>> y.backward()
    >>> x.grad.item()
    0.25
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple[NDArray, ...] = ()

    def save_for_backward(self, *args: NDArray) -> None:
        """Save arrays for `backward`, which reads them from `saved_tensors`.

        >>> function = Function()
        >>> function.save_for_backward(NDArray(torch.ones(2)))
        >>> function.saved_tensors[0].shape
        (2,)
        """
        self.saved_tensors = args

    def __call__(self, *inputs: NDArray) -> Any:
        """Run `forward` on arrays; recorded, so that `backward` gives its gradient."""
        who = type(self).__name__
        # A subclass may define `__init__` without calling this class's.
        if getattr(self, "_used", False):
            raise StateError(f"{who}: an instance of autograd.Function is for one call; make another one")
        self._used = True
        for value in inputs:
            if not isinstance(value, NDArray):
                raise ArgumentError(f"{who}: takes NDArrays; got {value!r}")
        devices = [value.device for value in inputs]
        several = False

        def forward(tensors: Sequence[Tensor]) -> list[Tensor]:
            nonlocal several
            found = self.forward(*map(_as_array, tensors, devices))
            several = isinstance(found, (tuple, list))
            found = list(found) if several else [found]
            # An output may be on another device than the inputs; its gradient is on the same one.
            devices.extend(value.device for value in found)
            return [as_tensor(value.storage) for value in found]

        def backward(head_grads: Sequence[Tensor], needed: Sequence[bool]) -> list[Tensor | None]:
            found = self.backward(*map(_as_array, head_grads, devices[len(inputs) :]))
            found = list(found) if isinstance(found, (tuple, list)) else [found]
            if len(found) != len(inputs):
                raise ArgumentError(
                    f"{who}.backward: must return a gradient for each input, {len(inputs)}; got {len(found)}"
                )
            for i, (value, gradient) in enumerate(zip(inputs, found, strict=True)):
                if gradient is not None and gradient.shape != value.shape:
                    raise ShapeError(
                        f"{who}.backward: gradient {i} must have shape {value.shape}; got {gradient.shape}"
                    )
            return [None if gradient is None else as_tensor(gradient.storage) for gradient in found]

        tensors = [value.source() for value in inputs]
        results = [
            _as_array(result, device)
            for result, device in zip(
                run_user_code(forward, backward, tensors), devices[len(inputs) :], strict=True
            )
        ]
        if mode.recording:
            for result in results:
                result.history = opaque_node(f"the autograd.Function {who}", inputs)
        return tuple(results) if several else results[0]

    def forward(self, *inputs: NDArray) -> Any:
        """Compute the outputs, an array or several; not recorded."""
        raise StateError(f"{type(self).__name__}: must define forward()")

    def backward(self, *output_grads: NDArray) -> Any:
        """Return the gradients of the inputs, one for each, from those of the outputs."""
        raise StateError(f"{type(self).__name__}: must define backward()")


def _as_array(tensor: Tensor, device: Device) -> NDArray:
    """Return the array of a tensor, recorded as the tensor is."""
    if not isinstance(tensor, StorageTensor):
        return NDArray(tensor, device)
    array: NDArray = wrap(tensor.stored, device)
    if tensor.requires_grad:
        array.leaf = tensor
    return array


def run_user_code(forward: Forward, backward: Backward, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Run `forward` unrecorded; the gradients of its inputs come from `backward`.

    Parameters
    ----------
    forward
        From the inputs to the outputs.
    backward
        From the outputs' gradients, and which inputs need one, to the inputs' gradients.
    tensors
        The inputs.

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> (y,) = run_user_code(lambda inputs: [inputs[0] * 2], lambda grads, needed: [grads[0] * 7], [x])
    >>> y.backward()
    >>> y.item(), x.grad.item()
    (6.0, 7.0)
    """
    if not torch.is_grad_enabled():
        return tuple(_outputs(forward, tensors))
    return _UserCode.apply(forward, backward, *tensors)


def _outputs(forward: Forward, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Run `forward`; an output that shares memory with an input is copied."""
    # torch forbids a function to return an input, or a view of one, as a new output.
    memories = {_memory(tensor) for tensor in tensors}
    with _state(False, None):
        return [
            value.clone() if _memory(value) in memories else value.detach()
            for value in forward([tensor.detach() for tensor in tensors])
        ]


def _memory(tensor: Tensor) -> int:
    """Return what is the same for tensors in one memory."""
    if isinstance(tensor, StorageTensor):
        return id(tensor.stored)
    return tensor.untyped_storage().data_ptr()


class _UserCode(torch.autograd.Function):
    """A node of torch's record that runs the user's functions."""

    @staticmethod
    def forward(ctx: _Context, forward: Forward, backward: Backward, *tensors: Tensor) -> tuple[Tensor, ...]:
        outputs = _outputs(forward, tensors)
        # Backward runs in the training mode of forward, whatever it is by then.
        ctx.user_backward, ctx.training = backward, mode.training
        ctx.mark_non_differentiable(*(value for value in outputs if not value.is_floating_point()))
        return tuple(outputs)

    @staticmethod
    # What the user computes here is not recorded: a second derivative would be silently wrong.
    @torch.autograd.function.once_differentiable
    def backward(ctx: _Context, *head_grads: Tensor) -> tuple[Tensor | None, ...]:
        with _state(False, ctx.training):
            found = ctx.user_backward(head_grads, ctx.needs_input_grad[2:])
        # The two functions are inputs to torch as well, without a gradient.
        return (None, None, *found)


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
