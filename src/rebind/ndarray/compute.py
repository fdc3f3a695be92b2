"""Running one operator on arrays: the path of every `nd.X` call.

`invoke` makes arrays of what `compute` returns of their tensors, and remembers them in a record. Arrays that are not
dense leave the path at one check, to a kernel for their storage types or to dense copies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from .. import generators
from .._torch.tensors import base_of, may_be_view
from ..device import Device, current_device, parse_device
from ..errors import ArgumentError, ShapeError, shown
from ..grad_mode import grad_mode, is_grad_enabled, set_grad_enabled
from ..mode import mode
from ..observing import observing
from ..ops import Operator, explain
from ..ops.storage_types import WITH_DENSE_INPUTS, StorageKernel, infer_storage_types, warn_of_fallback
from ..params import Params
from ..precision import Rules, active_rules
from .base import ArrayBase, wrap, wrap_tensor
from .history import remember
from .integer_gradients import Results, compute_exactly
from .storage import CONTIGUOUS, DenseStorage, Storage
from .storage_tensor import StorageTensor, as_dense, as_tensor, on_tensors

__all__ = [
    "compute", "device_of", "invoke", "raise_explained", "take_states", "unaliased", "unaliased_single", "with_modes",
    "write_in_backward",
]  # fmt: skip


def invoke(
    op: Operator,
    arrays: Sequence[ArrayBase | None],
    p: Params,
    out: ArrayBase | Sequence[ArrayBase] | None = None,
    device: Device | None = None,
) -> Any:
    """Run `op` with parsed parameters; return its visible outputs, an array or a list, or `out` filled.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> op = find("clip")
    >>> invoke(op, [mx.nd.array([1, 5])], op.parse({"a_min": 0, "a_max": 2})).asnumpy().tolist()
    [1.0, 2.0]
    """
    if out is not None:
        return _invoke_into(op, arrays, p, out, device)
    recording = mode.recording
    results, device = compute(op, arrays, p, device, recording)
    # The common case first: every call of nd.X comes through here.
    if len(results) == 1 and not recording:
        first = results[0]
        return wrap_tensor(first, device) if isinstance(first, Tensor) else wrap(first, device)
    made = [
        wrap_tensor(value, device) if isinstance(value, Tensor) else wrap(value, device) for value in results
    ]
    if recording:
        remember(op, p, arrays, made)
    return made[0] if len(made) == 1 else made


def _invoke_into(
    op: Operator,
    arrays: Sequence[ArrayBase | None],
    p: Params,
    out: ArrayBase | Sequence[ArrayBase],
    device: Device | None,
) -> ArrayBase | Sequence[ArrayBase]:
    targets: list[ArrayBase] = [out] if isinstance(out, ArrayBase) else list(out)
    if not all(isinstance(target, ArrayBase) for target in targets):
        raise ArgumentError(f"out must be an NDArray, or a list of them; got {shown(out)}", argument="out")
    # What is recorded needs results of its own; what writes its states is never recorded.
    recording = mode.recording
    if op.kernels.writes_over and (op.kernels.writes_aux or not recording):
        kernel = op.kernel_over(arrays, targets, p)
        if kernel is not None and _take_writes(op, arrays, p, targets):
            compute(op, arrays, p, device, recording, kernel)
            return out
    results, device = compute(op, arrays, p, device, recording)
    if len(targets) != len(results):
        raise ArgumentError(
            f"out must hold {len(results)} arrays; got {len(targets)}", argument="out"
        ).locate(op.name)
    # Checked one by one: `write` would broadcast a smaller result.
    for target, value in zip(targets, results, strict=True):
        if target.storage.shape != value.shape:
            raise ShapeError(
                f"out must have shape {tuple(value.shape)}; got {target.shape}", argument="out"
            ).locate(op.name)
        target.write(value if isinstance(value, Tensor) else wrap(value, device))
    return out


def _take_writes(
    op: Operator, arrays: Sequence[ArrayBase | None], p: Params, targets: Sequence[ArrayBase]
) -> bool:
    """Make arrays ready for a kernel that writes into their memory; return False when there is none for them."""
    if not all([isinstance(target.storage, DenseStorage) for target in targets]):
        kernel = _storage_kernel(op, p, arrays, recording=False)
        if kernel is None or kernel.over is None:
            return False
    for target in targets:
        if isinstance(target.storage, DenseStorage):
            target.begin_write(recorded=False)
        else:
            target._leave_record()
    return True


def compute(
    op: Operator,
    arrays: Sequence[ArrayBase | None],
    p: Params,
    device: Device | None,
    recording: bool,
    kernel_over: Callable[..., object] | None = None,
) -> Results:
    """Run `op` and return its visible outputs, and the device that they are on.

    The results never share memory with the inputs. New auxiliary states are written into theirs. With `kernel_over`, a
    form of the operator that writes over its inputs, the results are in their memory, and nothing is returned.
    A kernel for other storage types returns storages; whole numbers that are recorded come as arrays.

    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> op = find("clip")
    >>> compute(op, [mx.nd.array([1, 5])], op.parse({"a_min": 0, "a_max": 2}), None, recording=False)
    ([tensor([1., 2.])], cpu(0))
    """
    tensors: list[Tensor | None] = []
    types, has_gradient = set(), recording
    # One pass, since this runs for every call of nd.X: it collects all that is needed of the arrays.
    for array in arrays:
        if array is None:
            tensors.append(None)
            continue
        storage = array.storage
        if not isinstance(storage, DenseStorage):  # the one check for other storages on this path
            return _compute_non_dense(op, arrays, p, device, recording, kernel_over)
        tensor = storage.memory if storage.layout is CONTIGUOUS else storage.materialize()
        if recording and array.leaf is not None:
            # torch records operations on the leaf; the content itself is a constant to it.
            if array.leaf.dtype is not tensor.dtype:  # whole numbers, recorded in floating point
                return compute_exactly(compute, op, arrays, p, device)
            tensor = array.leaf
        tensors.append(tensor)
        types.add(tensor.dtype)
        has_gradient = has_gradient or tensor.requires_grad
        device = device or array.device
    rules = active_rules()
    if len(types) > 1 and rules is None:
        op.check_types(tensors, p)
    device = device or device_of(p)
    if op.name in WITH_DENSE_INPUTS and kernel_over is None:
        kernel = _storage_kernel(op, p, arrays, recording)
        if kernel is not None:
            return _run_storage_kernel(kernel, op, arrays, p, device, recording)
    signature = op.signature
    keywords: dict[str, Any] = p
    if signature.count or signature.modes:
        keywords = with_modes(signature.keywords(p), signature.modes, device)
    # Of tensors that have no gradient torch records nothing, in whatever mode. As `grad_mode`, at a third of its cost.
    is_switched = has_gradient and is_grad_enabled() is not recording
    try:
        if is_switched:
            set_grad_enabled(recording)
        if kernel_over is not None:
            _observed(op, kernel_over)(*tensors, **keywords)
            return [], device
        if rules is not None:
            tensors = _converted(rules, op, p, tensors)
        if recording and op.returned_aux:
            _detach_states(tensors, len(op.returned_aux))
        # The differentiable form brings the operator's own gradient; the plain one is cheaper.
        function = op.kernels.differentiable if recording else op.kernels.function
        if observing.kernels is not None:
            function = observing.kernels(op, function)
        result = function(*tensors, **keywords)
        if not isinstance(result, tuple):
            return [unaliased_single(result, tensors, recording)], device
        if op.returned_aux:
            result = take_states(op, p, arrays, result)
        return [unaliased(value, tensors) for value in result[: op.record.visible_outputs(p)]], device
    except (RuntimeError, IndexError) as error:
        raise_explained(error, op, tensors, p)
    finally:
        if is_switched:
            set_grad_enabled(not recording)


def _observed(op: Operator, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return what is called to compute an operator: its kernel, or what a profiler calls it by."""
    return kernel if observing.kernels is None else observing.kernels(op, kernel)


def _detach_states(tensors: list[Tensor | None], count: int) -> None:
    """Replace auxiliary states, the last `count`, by what is not recorded: as in MXNet they have no gradient."""
    for i in range(-count, 0):
        if (tensor := tensors[i]) is not None and tensor.requires_grad:
            tensors[i] = tensor.detach()


def raise_explained(error: Exception, op: Operator, tensors: Sequence[Tensor | None], p: Params) -> NoReturn:
    """Raise the error for one that a call of an operator raised; see `explain`."""
    explained = explain(error, op, tensors, p)
    if explained is error:  # that of a custom operator, with the user's own error as its cause
        raise error
    raise explained from None


def take_states(
    op: Operator, p: Params, arrays: Sequence[ArrayBase | None], result: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Have backward write the new auxiliary states of a result into theirs; return the outputs before them."""
    count = len(op.returned_aux)
    write_in_backward(result[:-count], zip(arrays[-count:], result[-count:], strict=True))
    if mode.training and op.kernels.constants is not None:
        _fill_constants(op.kernels.constants(p), op, arrays)
    return result[:-count]


def write_in_backward(
    outputs: Sequence[Tensor], states: Iterable[tuple[ArrayBase | None, Tensor | None]]
) -> None:
    """Write new auxiliary states into their arrays when backward comes through `outputs`; never, if it does not.

    So MXNet does: what is not trained, as a frozen backbone, leaves its moving averages.

    >>> import rebind as mx
    >>> x, mean = torch.ones(2, requires_grad=True), mx.nd.zeros((2,))
    >>> y = x * 2
    >>> write_in_backward([y], [(mean, torch.ones(2))])
    >>> before = mean.asnumpy().tolist()
    >>> y.sum().backward()
    >>> before, mean.asnumpy().tolist()
    ([0.0, 0.0], [1.0, 1.0])
    """
    nodes = [output.grad_fn for output in outputs if output.grad_fn is not None]
    pairs = [(state, value.detach()) for state, value in states if state is not None and value is not None]
    if not (nodes and pairs):
        return

    def write(_: object) -> None:
        while pairs:  # once: several outputs have one node
            state, value = pairs.pop()
            state.write_unrecorded(value)

    for node in nodes:
        node.register_prehook(write)


def _fill_constants(constants: Mapping[str, float], op: Operator, arrays: Sequence[ArrayBase | None]) -> None:
    """Fill the arrays that an operator counts as constants in training mode."""
    for name, array in zip(op.signature.input_names, arrays, strict=False):
        if array is not None and name in constants:
            array.write_unrecorded(torch.full_like(array.tensor, constants[name]).detach())


def _compute_non_dense(
    op: Operator,
    arrays: Sequence[ArrayBase | None],
    p: Params,
    device: Device | None,
    recording: bool,
    kernel_over: Callable[..., object] | None,
) -> Results:
    """As `compute`, where not all arrays are dense: by a kernel for their storage types, else on dense copies."""
    present = [array for array in arrays if array is not None]
    device = device or present[0].device
    kernel = _storage_kernel(op, p, arrays, recording)
    if kernel is not None and kernel_over is None:
        return _run_storage_kernel(kernel, op, arrays, p, device, recording)
    if kernel is not None and kernel.over is not None:
        with grad_mode(False):
            _observed(op, kernel.over)(*[array.storage for array in present], **op.signature.keywords(p))
        return [], device
    warn_of_fallback(op, [array.stype for array in present])
    # By identity: an array that is given twice must be one dense array too.
    dense = {id(array): _dense(array) for array in present}
    results, device = compute(
        op,
        [None if array is None else dense[id(array)] for array in arrays],
        p,
        device,
        recording,
        kernel_over,
    )
    for name, array in zip(op.signature.inputs_for(p, len(present)), present, strict=False):
        copy = dense[id(array)]
        if copy is not array and op.signature.is_auxiliary(name):
            array.write_unrecorded(copy.storage)  # states that the operator has written
    return results, device


def _storage_kernel(
    op: Operator, p: Params, arrays: Sequence[ArrayBase | None], recording: bool
) -> StorageKernel | None:
    """Return the kernel for the storage types of arrays; None where there is none, or none with a needed gradient."""
    present = [array for array in arrays if array is not None]
    kernel = infer_storage_types(op, p, [array.stype for array in present]).kernel
    needs_gradient = recording and any([array.is_recorded for array in present])
    return None if kernel is None or (needs_gradient and not kernel.has_gradient) else kernel


def _run_storage_kernel(
    kernel: StorageKernel,
    op: Operator,
    arrays: Sequence[ArrayBase | None],
    p: Params,
    device: Device,
    recording: bool,
) -> Results:
    storages = [None if array is None else array.storage for array in arrays]
    if len({storage.dtype for storage in storages if storage is not None}) > 1:
        op.check_types(storages, p)
    keywords = with_modes(op.signature.keywords(p), op.signature.modes, device)
    try:
        if not kernel.is_recorded and (not recording or kernel.gradient is None):
            with grad_mode(False):
                result = _observed(op, kernel.function)(*storages, **keywords)
            return result if isinstance(result, tuple) else [result], device
        tensors = [None if array is None else _recorded_source(array) for array in arrays]
        with grad_mode(recording):
            result = _observed(op, on_tensors(kernel))(*tensors, **keywords)
    except (RuntimeError, IndexError) as error:
        raise_explained(
            error, op, [None if array is None else as_tensor(array.storage) for array in arrays], p
        )
    results = result if isinstance(result, tuple) else (result,)
    return [
        _recorded_array(each, device) if isinstance(each, StorageTensor) else each for each in results
    ], device


def _recorded_array(tensor: StorageTensor, device: Device) -> ArrayBase:
    array: ArrayBase = wrap(tensor.stored, device)
    array.leaf = tensor
    return array


def _recorded_source(array: ArrayBase) -> Tensor:
    if array.leaf is not None or isinstance(array.storage, DenseStorage):
        return array.recorded_tensor
    return as_tensor(array.storage)


class _DenseCopy(ArrayBase):
    """A dense array with the content of another one, which is written with it where backward writes states."""

    __slots__ = ("_original",)

    def __init__(self, original: ArrayBase) -> None:
        super().__init__(as_dense(_recorded_source(original)), original.device)
        self._original = original

    def write_unrecorded(self, value: Tensor | Storage) -> None:
        super().write_unrecorded(value)
        self._original.write_unrecorded(value)


def _dense(array: ArrayBase) -> ArrayBase:
    return array if isinstance(array.storage, DenseStorage) else _DenseCopy(array)


def _converted(rules: Rules, op: Operator, p: Params, tensors: list[Tensor | None]) -> list[Tensor | None]:
    """Return inputs in the types that mixed precision computes an operator in."""
    names = op.signature.inputs_for(p, len(tensors)) if op.signature.variadic else op.signature.input_names
    fixed = [op.signature.is_auxiliary(name) for name in names]
    tensors = rules.cast(rules.kind(op.name, p), tensors, fixed)
    op.check_types(tensors, p)
    return tensors


def with_modes(keywords: dict[str, Any], names: Collection[str], device: Device) -> dict[str, Any]:
    """Return the keywords of a function with those that are no parameters: mode, generator and device."""
    keywords = dict(keywords)
    if "training" in names:
        keywords["training"] = mode.training
    if "generator" in names:
        keywords["generator"] = generators.generator(device)
    if "device" in names:
        keywords["device"] = device.torch
    if "context" in names:
        keywords["context"] = device
    return keywords


def device_of(p: Params) -> Device:
    """Return the device for an operator that has no arrays: the one that its parameters name, else the default.

    >>> device_of(Params(ctx="cpu(1)"))
    cpu(1)
    """
    named = p.get("ctx")
    return parse_device(named) if named else current_device()


def unaliased(value: Tensor, inputs: Sequence[Tensor | None]) -> Tensor:
    """Return a result in memory of its own: a copy where it is a view, or in the memory of an input."""
    if may_be_view(value) or _begins_with_one(value, inputs):
        return value.clone(memory_format=torch.contiguous_format)
    return value


def _begins_with_one(value: Tensor, inputs: Sequence[Tensor | None]) -> bool:
    """Whether a result that is no view begins in memory where an input does: itself, or what `detach` returns."""
    start = value.data_ptr()
    for tensor in inputs:  # noqa: SIM110  # a generator takes several times as long, in each call
        if tensor is not None and tensor.data_ptr() == start:
            return True
    return False


def unaliased_single(value: Tensor, inputs: Sequence[Tensor | None], recording: bool) -> Tensor:
    """As `unaliased`, for a single result, with fewer copies: a whole new tensor in another shape is not copied."""
    if not may_be_view(value):
        return (
            value.clone(memory_format=torch.contiguous_format) if _begins_with_one(value, inputs) else value
        )
    if recording:
        return value.clone(memory_format=torch.contiguous_format)
    in_order = value.contiguous()
    if in_order is not value:  # a copy then
        return in_order
    base = base_of(value)
    if base is None:  # unknown
        return value.clone()
    for tensor in inputs:
        if tensor is base or (tensor is not None and base_of(tensor) is base):
            return value.clone()
    # `.data` of a view is a tensor of its own on the same memory, which here nothing else refers to.
    return value.data if base.numel() == value.numel() else value.clone()
