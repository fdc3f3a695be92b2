"""MXNet 0.x's operators in Python: `NumpyOp` and `NDArrayOp`, run as custom operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ..checks import warn_user
from ..device import Device
from ..ndarray import NDArray, array
from ..ops import find
from ..symbol import Symbol
from ..symbol.functions import make_function
from .custom_op import CustomOp, CustomOpProp
from .registration import register

__all__ = ["NDArrayOp", "NumpyOp", "PythonOp"]

#: Arrays of the kind that an old operator takes.
A = TypeVar("A", NDArray, np.ndarray)


class PythonOp:
    """MXNet 0.x's operators in Python: one object that describes an operator and computes it.

    Calling it, or `get_symbol`, applies it to symbols. Derive from `NumpyOp` or `NDArrayOp`, which differ in the class
    of the arrays. Such a symbol cannot be saved, since nothing in a file could name the object; one with a `CustomOp`
    can.

    Parameters
    ----------
    need_top_grad
        Whether `backward` needs the gradients of the outputs.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad
        warn_user(
            f"{type(self).__name__}: PythonOp, NumpyOp and NDArrayOp are of MXNet 0.x; use CustomOp",
            DeprecationWarning,
        )

    def __call__(self, *args: Symbol, **kwargs: Symbol | str) -> Symbol:
        """Apply the operator to symbols."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Symbol, **kwargs: Symbol | str) -> Symbol:
        """Apply the operator to symbols.

        >>> import warnings, rebind as mx
        >>> class Double(mx.operator.NumpyOp):
        ...     def forward(self, in_data, out_data):
        ...         out_data[0][:] = in_data[0] * 2
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")  # NumpyOp is deprecated
        ...     double = Double()
        >>> double.get_symbol(mx.sym.var("x")).eval(x=mx.nd.ones((2,)))[0].asnumpy().tolist()
        [2.0, 2.0]
        """
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
        # Copies: a NumPy operator may change its inputs, which are not its own.
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

    # The object's own: two objects of one class may differ in what they hold. The class below refers to the object, so
    # that its id is not used again.
    name = f"_{type(old).__name__}_{id(old)}"
    register(name)(Prop)
    return name
