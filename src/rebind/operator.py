"""Operators that users write in Python: `CustomOp`, `CustomOpProp`, `register`.

A `CustomOpProp` says what an operator takes and makes; a `CustomOp`, which it creates, computes. Once registered it is
``mx.sym.Custom(..., op_type=name)`` in a symbol and ``mx.nd.Custom`` on arrays. It runs in the caller's own thread,
where its turn comes: it cannot wait for anything that waits for it.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from . import autograd, dtypes
from .device import Device
from .dtypes import DTypeLike
from .errors import ArgumentError, MXNetError, ParameterError, ShapeError, UserCodeError
from .grad_mode import grad_mode
from .ndarray import NDArray, array
from .ops import OPERATORS, Inference, Input, Kernels, Operator, Record, Shapes, Signature, Types, find
from .ops.custom import CUSTOM_OPERATORS
from .params import Parameter, Params, format_value
from .shapes import Shape, as_shape
from .symbol import Symbol
from .symbol.functions import make_function

__all__ = [
    "CustomOp", "CustomOpProp", "NDArrayOp", "NumpyOp", "OperatorArguments", "PythonOp", "get_all_registered_operators",
    "get_operator_arguments", "register",
]  # fmt: skip


class CustomOp:
    """What a custom operator computes: derive from it and define `forward` and `backward`."""

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[NDArray],
        out_data: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute the outputs and write them, with `assign`, into `out_data`.

        Parameters
        ----------
        is_train
            The mode.
        req
            For each output how it is to be written: ``'write'``, ``'add'`` or ``'null'`` (not at all).
        in_data, out_data
            The inputs and the outputs.
        aux
            The auxiliary states, to be written in place.
        """

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute the gradients of the inputs and write them, with `assign`, into `in_grad`.

        Parameters
        ----------
        req
            For each input how its gradient is to be written.
        out_grad
            The gradients of the outputs.
        in_data, out_data, aux
            What `forward` had and made.
        in_grad
            The gradients to write; they hold zeros before.
        """

    def assign(self, dst: NDArray, req: str, src: NDArray | np.ndarray | float) -> None:
        """Write `src` into `dst` as `req` says.

        >>> import rebind as mx
        >>> total = mx.nd.ones((2,))
        >>> CustomOp().assign(total, "add", mx.nd.ones((2,)))
        >>> total.asnumpy().tolist()
        [2.0, 2.0]
        """
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] = dst + src
        elif req != "null":
            raise ParameterError(
                f"CustomOp.assign: req must be one of 'null', 'write', 'inplace', 'add'; got {req!r}"
            )


class CustomOpProp:
    """What a custom operator takes and makes; it creates the operator.

    Parameters of ``Custom(..., op_type=name, key=value)`` come to the constructor as text, as they stand in a symbol's
    JSON.

    Parameters
    ----------
    need_top_grad
        Whether `backward` needs the gradients of the outputs; a loss does not.

    Examples
    --------
    >>> import rebind as mx
    >>> class Scale(mx.operator.CustomOp):
    ...     def __init__(self, factor):
    ...         self.factor = factor
    ...
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] * self.factor)
    ...
    ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
    ...         self.assign(in_grad[0], req[0], out_grad[0] * self.factor)
    >>> @mx.operator.register("scale")
    ... class ScaleProp(mx.operator.CustomOpProp):
    ...     def __init__(self, factor="1"):
    ...         super().__init__(need_top_grad=True)
    ...         self.factor = float(factor)
    ...
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Scale(self.factor)
    >>> mx.nd.Custom(mx.nd.ones((2,)), op_type="scale", factor=3).asnumpy()
    array([3., 3.], dtype=float32)
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Return the names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the auxiliary states."""
        return []

    def infer_shape(self, in_shape: list[list[int]]) -> Sequence[Sequence[Sequence[int]]]:
        """Return the shapes of inputs, of outputs and (may be left out) of auxiliary states.

        `in_shape` holds a list of ints for each input, an empty one where nothing is known.
        """
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[DTypeLike | None]) -> Sequence[Sequence[DTypeLike | None]]:
        """Return the types of inputs, of outputs and (may be left out) of auxiliary states."""
        first = in_type[0]
        return in_type, [first] * len(self.list_outputs()), [first] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> Sequence[Sequence[str]]:
        """Return the kinds of storage; all are dense here."""
        outputs, states = len(self.list_outputs()), len(self.list_auxiliary_states())
        return in_stype, ["default"] * outputs, ["default"] * states

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> Sequence[Sequence[str]]:
        """Return the kinds of storage in `backward`; all are dense here."""
        return ograd_stype, in_stype, out_stype, ["default"] * len(igrad_stype), aux_stype

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Return what `backward` reads. Accepted; it is given everything."""
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Device, in_shapes: list[list[int]], in_dtypes: list[int]) -> CustomOp:
        """Return the operator for one executor.

        Parameters
        ----------
        ctx
            The device.
        in_shapes, in_dtypes
            Shapes and MXNet's numbers of types, of inputs and auxiliary states.
        """
        return CustomOp()


#: Arrays of the kind that an old operator takes.
A = TypeVar("A", NDArray, np.ndarray)
Prop = TypeVar("Prop", bound=type[CustomOpProp])


def register(reg_name: str) -> Callable[[Prop], Prop]:
    """Register a `CustomOpProp` under a name, for ``Custom(..., op_type=reg_name)``; a decorator.

    A name that is registered again stands for the newer class from then on; symbols keep theirs.
    """

    def add(prop_class: Prop) -> Prop:
        if not (isinstance(prop_class, type) and issubclass(prop_class, CustomOpProp)):
            raise ArgumentError(
                f"operator.register: must decorate a subclass of CustomOpProp; got {prop_class!r}"
            )
        CUSTOM_OPERATORS[reg_name] = lambda given: _make(prop_class, given)
        return prop_class

    return add


def _make(prop_class: Callable[..., CustomOpProp], given: Mapping[str, object]) -> Operator:
    """Return the operator of one call, as its `CustomOpProp` describes it."""
    texts = {key: format_value(value) for key, value in given.items()}
    name = texts.pop("op_type")
    with _named(name, "the constructor of its CustomOpProp"):
        prop = prop_class(**texts)
        arguments, states = list(prop.list_arguments()), list(prop.list_auxiliary_states() or ())
        outputs = tuple(prop.list_outputs())
    described = _Described(name, prop, arguments, outputs, states)
    return Operator(
        "Custom",
        Signature(
            tuple(Input(entry, auxiliary=entry in states) for entry in (*arguments, *states)),
            {key: Parameter(key, "", "a value", format_value) for key in given},
            frozenset({"training"}),
        ),
        Kernels(
            described.run_once,
            head_gradient=prop.need_top_grad_,
            make=lambda: _Kernel(described),
            writes_aux=True,
        ),
        Inference(
            described.fill_shapes,
            types=dict.fromkeys((*arguments, *outputs, *states), "any"),
            types_rule=described.fill_types,
        ),
        Record(outputs),
    )


@contextlib.contextmanager
def _named(name: str, what: str) -> Iterator[None]:
    """Say which custom operator raised an error, and keep the error as the cause."""
    try:
        yield
    except UserCodeError:
        raise
    except Exception as error:
        failure = UserCodeError(f"operator {name!r}: {what} failed with {type(error).__name__}: {error}")
        raise failure.locate("Custom") from error


class _Described(NamedTuple):
    """A `CustomOpProp` with the names that it gave, and what follows from them."""

    name: str
    prop: CustomOpProp
    arguments: list[str]
    outputs: tuple[str, ...]
    states: list[str]

    def fill_shapes(self, shapes: Shapes, p: Params) -> Shapes:
        """Return the shapes of inputs and states, as far as the user's `infer_shape` can tell."""
        given = [shapes.get(entry) for entry in self.arguments]
        known = all(given)
        if not any(given):
            return {}
        try:
            inputs, _, states = self.infer_shapes(given)
        except MXNetError:
            if known:
                raise
            return {}  # the user's code need not cope with what is unknown
        return {
            entry: shape or None
            for entry, shape in zip((*self.arguments, *self.states), (*inputs, *states), strict=True)
        }

    def infer_shapes(self, given: Sequence[Shape | None]) -> tuple[list[Shape], list[Shape], list[Shape]]:
        """Return the shapes of inputs, outputs and states."""
        with _named(self.name, "infer_shape"):
            found = [list(part) for part in self.prop.infer_shape([list(shape or ()) for shape in given])]
            found += [[]] * (3 - len(found))
            inputs, outputs, states = (
                [as_shape(shape, f"operator {self.name!r}: infer_shape") for shape in part] for part in found
            )
        self._check_counts("infer_shape", inputs, outputs, states)
        return inputs, outputs, states

    def fill_types(self, types: Types, p: Params) -> Types:
        """Return the types of inputs, outputs and states, as far as the user's `infer_type` can tell."""
        given = [types.get(entry) for entry in self.arguments]
        if not any(given):
            return {}
        try:
            inputs, outputs, states = self.infer_types(given)
        except MXNetError:
            if all(given):
                raise
            return {}
        return dict(
            zip((*self.arguments, *self.outputs, *self.states), (*inputs, *outputs, *states), strict=True)
        )

    def infer_types(self, given: Sequence[torch.dtype | None]) -> tuple[list, list, list]:
        """Return the types of inputs, outputs and states; None where unknown."""
        with _named(self.name, "infer_type"):
            known = [None if dtype is None else dtypes.numpy_type(dtype) for dtype in given]
            found = [list(part) for part in self.prop.infer_type(known)]
            found += [[]] * (3 - len(found))
            inputs, outputs, states = (
                [None if dtype is None else dtypes.torch_dtype(dtype) for dtype in part] for part in found
            )
            states = states or [outputs[0]] * len(self.states)
        self._check_counts("infer_type", inputs, outputs, states)
        return inputs, outputs, states

    def _check_counts(self, what: str, inputs: list, outputs: list, states: list) -> None:
        wanted = len(self.arguments), len(self.outputs), len(self.states)
        got = len(inputs), len(outputs), len(states)
        if got != wanted:
            raise ShapeError(
                f"operator {self.name!r}: {what} must return {wanted[0]} values for its inputs, {wanted[1]} "
                f"for its outputs and {wanted[2]} for its auxiliary states; got {got[0]}, {got[1]} and {got[2]}"
            )

    def infer_outputs(self, tensors: Sequence[Tensor]) -> list[tuple[Shape, torch.dtype]]:
        """Return the shapes and types of the outputs for inputs (and states)."""
        inputs = tensors[: len(self.arguments)]
        _, shapes, _ = self.infer_shapes([tuple(tensor.shape) for tensor in inputs])
        _, types, _ = self.infer_types([tensor.dtype for tensor in inputs])
        return list(zip(shapes, types, strict=True))

    def run_once(self, *tensors: Tensor, training: bool = False, **parameters: Any) -> Any:
        """Compute on tensors; on those without content only the shapes and types."""
        if tensors and tensors[0].is_meta:
            outputs = _zeros(self.infer_outputs(tensors), tensors[0].device)
            return tuple(outputs) if len(outputs) > 1 else outputs[0]
        return _Kernel(self)(*tensors, training=training)


def _zeros(described: Sequence[tuple[Shape, torch.dtype]], device: torch.device | None) -> list[Tensor]:
    return [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype in described]


class _Kernel:
    """Runs a custom operator; holds the user's `CustomOp`, which may keep something from one run to the next."""

    def __init__(self, described: _Described) -> None:
        self.described = described
        self.__name__ = "custom_operator"  # what the plan's code calls it
        self._made_for: Any = None
        self._outputs: list[tuple[Shape, torch.dtype]] = []
        self._op: CustomOp | None = None

    def _operator(self, tensors: Sequence[Tensor], device: Any) -> CustomOp:
        """Return the user's operator for these shapes and types."""
        wanted = [(tuple(tensor.shape), tensor.dtype) for tensor in tensors]
        if self._op is None or self._made_for != wanted:
            shapes, types = [list(shape) for shape, _ in wanted], [dtypes.flag(dtype) for _, dtype in wanted]
            with _named(self.described.name, "create_operator"):
                self._op = self.described.prop.create_operator(device, shapes, types)
            if not hasattr(self._op, "forward"):
                raise ArgumentError(
                    f"operator {self.described.name!r}: create_operator must return a CustomOp; "
                    f"got {self._op!r}"
                )
            self._outputs = self.described.infer_outputs(tensors)
            self._made_for = wanted
        return self._op

    def __call__(self, *tensors: Tensor, training: bool = False, **parameters: Any) -> Any:
        described = self.described
        count = len(described.arguments)
        outputs: list[Tensor] = []
        states = [NDArray(tensor.detach()) for tensor in tensors[count:]]
        in_data = [NDArray(tensor.detach()) for tensor in tensors[:count]]
        device = (in_data or states)[0].device if tensors else None
        user = self._operator(tensors, device)

        def forward(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
            outputs.extend(_zeros(self._outputs, inputs[0].device if inputs else None))
            out_data = [NDArray(value, device) for value in outputs]
            with _named(described.name, "forward"), _training(training):
                user.forward(training, ["write"] * len(outputs), in_data, out_data, states)
            return [value.tensor for value in out_data]

        def backward(heads: Sequence[Tensor], needed: Sequence[bool]) -> list[Tensor | None]:
            out_data = [NDArray(value.detach(), device) for value in outputs]
            in_grad = [NDArray(torch.zeros_like(value.tensor), device) for value in in_data]
            request = ["write" if wanted else "null" for wanted in needed[:count]]
            head_grads = [NDArray(head.contiguous(), device) for head in heads]
            with _named(described.name, "backward"), _training(training):
                user.backward(request, head_grads, in_data, out_data, in_grad, states)
            gradients = [
                gradient.tensor if wanted == "write" else None
                for gradient, wanted in zip(in_grad, request, strict=True)
            ]
            return [*gradients, *[None] * len(states)]

        found = autograd.run_user_code(forward, backward, tensors)
        return found if len(found) > 1 else found[0]


@contextlib.contextmanager
def _training(training: bool) -> Iterator[None]:
    """Run the user's code in a mode, unrecorded."""
    with autograd.pause(train_mode=training), grad_mode(False):
        yield


class PythonOp:
    """MXNet 0.x's operators in Python: one object that describes an operator and computes it.

    Calling it, or `get_symbol`, applies it to symbols. Derive from `NumpyOp` or `NDArrayOp`, which say what the arrays
    are. Such a symbol cannot be saved, since nothing in a file could name the object; `CustomOp` can.

    Parameters
    ----------
    need_top_grad
        Whether `backward` needs the gradients of the outputs.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad
        warnings.warn(
            f"{type(self).__name__}: PythonOp, NumpyOp and NDArrayOp are of MXNet 0.x; CustomOp took their place",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Symbol, **kwargs: Symbol | str) -> Symbol:
        """Apply the operator to symbols."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Symbol, **kwargs: Symbol | str) -> Symbol:
        """Apply the operator to symbols."""
        return make_function(find("Custom"), "Custom")(*args, op_type=_adapt(self), **kwargs)

    def forward(self, in_data: list[A], out_data: list[A]) -> None:
        """Compute the outputs and write them into `out_data`; by default the input."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: list[A], in_data: list[A], out_data: list[A], in_grad: list[A]) -> None:
        """Compute the inputs' gradients and write them into `in_grad`; by default ones."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[list[int]]) -> Sequence[Sequence[Sequence[int]]]:
        """Return the shapes of inputs and outputs."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Return the names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether `backward` needs the gradients of the outputs."""
        return self.need_top_grad_


class NumpyOp(PythonOp):
    """An operator on NumPy arrays, written into in place."""


class NDArrayOp(PythonOp):
    """An operator on NDArrays, written into in place."""

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Return what `backward` reads. Accepted; it is given everything."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


class _Adapted(CustomOp):
    """An old operator as a `CustomOp`."""

    def __init__(self, old: PythonOp) -> None:
        self.old = old

    def _run(self, function: Callable[..., None], *groups: list[NDArray]) -> None:
        """Call the old function with arrays as it wants them; the last group is written."""
        if isinstance(self.old, NDArrayOp):
            function(*groups)
            return
        arrays = [[value.asnumpy() for value in group] for group in groups]
        function(*arrays)
        for target, value in zip(groups[-1], arrays[-1], strict=True):
            target[:] = array(value, dtype=target.dtype)

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[NDArray],
        out_data: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        self._run(self.old.forward, in_data, out_data)

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        self._run(self.old.backward, out_grad, in_data, out_data, in_grad)


def _adapt(old: PythonOp) -> str:
    """Register an old operator under a name of its own, and return that."""

    class Prop(CustomOpProp):
        def __init__(self) -> None:
            super().__init__(need_top_grad=old.need_top_grad())

        def list_arguments(self) -> list[str]:
            return old.list_arguments()

        def list_outputs(self) -> list[str]:
            return old.list_outputs()

        def infer_shape(self, in_shape: list[list[int]]) -> Sequence[Sequence[Sequence[int]]]:
            return old.infer_shape(in_shape)

        def create_operator(self, ctx: Device, in_shapes: list[list[int]], in_dtypes: list[int]) -> CustomOp:
            return _Adapted(old)

    name = f"_{type(old).__name__}_{id(old)}"
    register(name)(Prop)
    return name


class OperatorArguments(NamedTuple):
    """An operator's arrays and parameters: how many, their names and their types as text."""

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """Return the names of all operators, other names of the same operator included.

    >>> "FullyConnected" in get_all_registered_operators()
    True
    """
    return sorted(OPERATORS)


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Return an operator's arguments, arrays first.

    >>> get_operator_arguments("clip")
    OperatorArguments(narg=3, names=['data', 'a_min', 'a_max'], types=['NDArray-or-Symbol', 'a float', 'a float'])
    """
    op = find(op_name)
    kind = "NDArray-or-Symbol[]" if op.signature.variadic else "NDArray-or-Symbol"
    signature = op.signature
    names = [*signature.input_names, *signature.parameters]
    types = [kind] * len(signature.input_names)
    types += [parameter.type_text for parameter in signature.parameters.values()]
    return OperatorArguments(len(names), names, types)
