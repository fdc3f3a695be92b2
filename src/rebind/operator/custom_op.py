"""What users derive from: `CustomOp` computes, `CustomOpProp` declares what the operator takes and returns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..device import Device
from ..dtypes import DTypeLike
from ..errors import ParameterError
from ..ndarray import NDArray

__all__ = ["CustomOp", "CustomOpProp"]


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

        Examples
        --------
        >>> import rebind as mx
        >>> class Halve(CustomOp):
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         self.assign(out_data[0], req[0], in_data[0] / 2)
        >>> out = mx.nd.zeros((1,))
        >>> Halve().forward(False, ["write"], [mx.nd.array([3])], [out], [])
        >>> out.item()
        1.5
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

        Examples
        --------
        >>> import rebind as mx
        >>> class Halve(CustomOp):
        ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        ...         self.assign(in_grad[0], req[0], out_grad[0] / 2)
        >>> grad = mx.nd.zeros((1,))
        >>> Halve().backward(["write"], [mx.nd.ones((1,))], [], [], [grad], [])
        >>> grad.item()
        0.5
        """

    def assign(self, dst: NDArray, req: str, src: NDArray | np.ndarray | float) -> None:
        """Write `src` into `dst` as `req` asks.

        >>> import rebind as mx
        >>> total = mx.nd.ones((2,))
        >>> CustomOp().assign(total, "add", mx.nd.ones((2,)))
        >>> total.asnumpy().tolist()
        [2.0, 2.0]
        """
        # 'inplace': the memory of an input, in MXNet. It never is here, and writing is right for both.
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

    Parameters of ``Custom(..., op_type=name, key=value)`` come to the constructor as text, as they are in a symbol's
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
        """Return the names of the inputs.

        >>> import rebind as mx
        >>> class Weighted(mx.operator.CustomOpProp):
        ...     def list_arguments(self):
        ...         return ["data", "weight"]
        >>> _ = mx.operator.register("weighted")(Weighted)
        >>> mx.sym.Custom(mx.sym.var("x"), op_type="weighted", name="w").list_arguments()
        ['x', 'w_weight']
        """
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs.

        >>> CustomOpProp().list_outputs()
        ['output']
        """
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the auxiliary states."""
        return []

    def infer_shape(self, in_shape: list[list[int]]) -> Sequence[Sequence[Sequence[int]]]:
        """Return the shapes of inputs, of outputs and (may be left out) of auxiliary states.

        `in_shape` holds a list of ints for each input, an empty one where nothing is known.

        >>> CustomOpProp().infer_shape([[2, 3]])  # by default outputs have the shape of the first input
        ([[2, 3]], [[2, 3]], [])
        """
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[DTypeLike | None]) -> Sequence[Sequence[DTypeLike | None]]:
        """Return the types of inputs, of outputs and (may be left out) of auxiliary states.

        >>> CustomOpProp().infer_type(["float16"])  # by default all are of the type of the first input
        (['float16'], ['float16'], [])
        """
        first = in_type[0]
        return in_type, [first] * len(self.list_outputs()), [first] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> Sequence[Sequence[str]]:
        """Return the storage types of inputs, outputs and auxiliary states; by default outputs are dense.

        It is asked where an input is not dense. Without it the operator is given dense copies.

        >>> CustomOpProp().infer_storage_type(["default"])
        (['default'], ['default'], [])
        """
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
        """Return the storage types in `backward`: by default as they come, and dense gradients."""
        return ograd_stype, in_stype, out_stype, ["default"] * len(igrad_stype), aux_stype

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> list[int]:
        """Return what `backward` reads. Accepted; it is given everything.

        >>> CustomOpProp().declare_backward_dependency([0], [1], [2])
        [0, 1, 2]
        >>> CustomOpProp(need_top_grad=False).declare_backward_dependency([0], [1], [2])
        [1, 2]
        """
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(
        self, ctx: Device, in_shapes: list[list[int]], in_dtypes: list[int], /
    ) -> CustomOp:  # by position: a subclass has names of its own
        """Return the operator for one executor.

        Parameters
        ----------
        ctx
            The device.
        in_shapes, in_dtypes
            Shapes and MXNet's numbers of types, of inputs and auxiliary states.
        """
        return CustomOp()
