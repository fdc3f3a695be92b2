"""Calls of operators that repeat an earlier one: `Form` has what was read of the arguments, and runs the plain case.

Most calls of a program have the form of an earlier one: the same number of arrays, the same parameters. Nothing of
these is read again, and what they compute takes the shortest way, as long as nothing is recorded and the arrays are
dense and of one type. All else is for `invoke`, which knows every case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..device import Device
from ..grad_mode import is_grad_enabled, set_grad_enabled
from ..memo import Exactly
from ..ops import Operator
from ..ops.spec import without_defaults
from ..params import Params
from ..precision import active_rules
from .base import ArrayBase, wrap_tensor
from .compute import compute, device_of, raise_explained, take_states, unaliased, unaliased_single, with_modes
from .mode import mode
from .storage import DenseStorage

__all__ = ["Form"]


class Form:
    """An operator with parsed parameters, to be called on a number of arrays.

    Parameters
    ----------
    op, p
        The operator and its parameters.
    device
        Where an operator without inputs computes, if the call says so.
    order
        Which of the call's arrays is each of the inputs; by default they are in order.
    absent
        How many inputs are missing at the end.
    exactly
        The values of the call that made it, where equal ones may be others.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> clip = find("clip")
    >>> Form(clip, clip.parse({"a_min": 0, "a_max": 2})).run((mx.nd.array([1, 5]),)).asnumpy()
    array([1., 2.], dtype=float32)
    """

    __slots__ = (
        "_array_class", "_kernels_over", "_keywords", "_modes", "_owns_output", "_placed", "_types",
        "absent", "device", "exactly", "op", "order", "p",
    )  # fmt: skip

    def __init__(
        self,
        op: Operator,
        p: Params,
        device: Device | None = None,
        order: Sequence[int] | None = None,
        absent: int = 0,
        exactly: Exactly | None = None,
    ) -> None:
        self.op = op
        self.p = p
        self.device = device
        self.order = None if order is None or [*order] == [*range(len(order))] else tuple(order)
        self.absent = (None,) * absent
        self.exactly = exactly
        self._keywords = without_defaults(op.kernels.function, op.signature.keywords(p))
        self._modes = op.signature.modes
        self._owns_output = op.kernels.owns_output
        self._array_class = DenseStorage.array_class
        #: Types of arrays that are not all one, and that the operator takes.
        self._types: set[tuple[torch.dtype, ...]] = set()
        #: The device of the last run, and what the function is given for it: one tuple, as threads may share a form.
        self._placed: tuple[Device | None, dict[str, Any]] = None, {}
        #: The kernel that writes over inputs, by which of them the result is to be.
        self._kernels_over: dict[tuple[bool, ...], Callable[..., Any] | None] = {}

    def run(self, arrays: Sequence[Any], changed: Mapping[str, object] | None = None) -> Any:
        """Return what the operator computes from arrays, an array or a list; None where the plain case is not given.

        Parameters
        ----------
        arrays
            What was given for arrays; the plain case is dense arrays, outside of records.
        changed
            Parameters, parsed, that go over those of the form.
        """
        if mode.recording or active_rules() is not None:
            return None
        # From here on every step counts: most calls of nd.X come through here.
        array_class, device = self._array_class, self.device
        tensors: list[Tensor] = []
        dtype, are_mixed = None, False
        array: ArrayBase
        for array in arrays:
            if array.__class__ is not array_class or (tensor := array.storage.tensor) is None:
                return None
            if dtype is None:
                dtype = tensor.dtype
                device = device or array.device
            elif tensor.dtype is not dtype:
                are_mixed = True
            tensors.append(tensor)
        if are_mixed:
            self._check_types(tensors)
        keywords = self._keywords if changed is None else {**self._keywords, **changed}
        device = device or device_of(self.p)
        if self._modes:
            placed_on, placed = self._placed
            if placed_on is not device:
                placed = with_modes({}, self._modes, device)
                self._placed = device, placed
            keywords = {**keywords, **placed}
            if "training" in placed:
                keywords["training"] = mode.training
        before = is_grad_enabled()
        if before:
            set_grad_enabled(False)
        try:
            function = self.op.kernels.function
            result = function(*tensors, **keywords) if keywords else function(*tensors)
            # The class first: isinstance() takes three times as long, as it asks a tensor for its class as well.
            if result.__class__ is Tensor or not isinstance(result, tuple):
                aliased = result._is_view()
                if not self._owns_output:
                    place = result.data_ptr()
                    for tensor in tensors:
                        aliased = aliased or tensor.data_ptr() == place
                return wrap_tensor(unaliased_single(result, tensors, False) if aliased else result, device)
            if self.op.returned_aux:
                result = take_states(self.op, self.p, (*arrays, *self.absent), result)
            made: list[ArrayBase] = [
                wrap_tensor(unaliased(value, tensors), device)
                for value in result[: self.op.record.visible_outputs(self.p)]
            ]
            return made[0] if len(made) == 1 else made
        except (RuntimeError, IndexError) as error:
            raise_explained(error, self.op, tensors, self.p)
        finally:
            if before:
                set_grad_enabled(True)

    def _check_types(self, tensors: Sequence[Tensor]) -> None:
        types = tuple([tensor.dtype for tensor in tensors])
        if types not in self._types:
            self.op.check_types(tensors, self.p)
            self._types.add(types)

    def run_into(self, arrays: Sequence[Any], out: ArrayBase) -> ArrayBase | None:
        """Write what the operator computes into `out`, and return it; None where the plain case is not given.

        >>> import rebind as mx
        >>> from rebind.ops import find
        >>> add, x = find("elemwise_add"), mx.nd.ones((2,))
        >>> Form(add, add.parse({})).run_into((x, x), x).asnumpy()
        array([2., 2.], dtype=float32)
        """
        if mode.recording or out.storage.tensor is None:
            return None
        if self.op.kernels.writes_over:
            which = tuple([array is out for array in arrays])
            if which not in self._kernels_over:
                self._kernels_over[which] = self.op.kernel_over(arrays, (out,), self.p)
            kernel = self._kernels_over[which]
            if kernel is not None and all([isinstance(array, ArrayBase) for array in arrays]):
                out.begin_write(recorded=False)
                compute(self.op, (*arrays, *self.absent), self.p, self.device, False, kernel)
                return out
        result = self.run(arrays)
        if not isinstance(result, ArrayBase) or result.storage.shape != out.storage.shape:
            return None
        out.write(result.tensor)
        return out
