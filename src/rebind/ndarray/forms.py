"""Calls of operators that repeat an earlier one: `Form` has what was read of the arguments, and runs the plain case.

Most calls of a program have the form of an earlier one: the same number of arrays, the same parameters. Nothing of
these is read again, and what they compute takes the shortest way, as long as the arrays are dense, inside of a record
also where there is one result. All else is for `invoke`, which knows every case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..device import Device
from ..memo import Exactly
from ..mode import mode
from ..ops import Operator
from ..ops.declaration import without_defaults
from ..params import Params
from . import history
from .base import ArrayBase, wrap_tensor
from .compute import device_of, take_states, unaliased, unaliased_single, with_modes
from .storage import DenseStorage
from .written_calls import Call, Pattern, Placed, never_plain, write_call

__all__ = ["Form"]


class Form:
    """An operator with parsed parameters, to be called on arrays.

    Parameters
    ----------
    op, p
        The operator and its parameters.
    order
        Which of the call's arrays is each of the operator's inputs.
    device
        Where an operator without inputs computes, if the call says so.
    absent
        How many inputs are missing at the end.
    exactly
        The values of the call that made it, where equal ones may be others.
    varying
        Parameters that each call gives anew, after the arrays.

    Attributes
    ----------
    run
        The plain case: takes the arrays, and the parameters that vary; returns an array or a list, or None where the
        case is another one.
    record
        The same inside of a record.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> clip = find("clip")
    >>> Form(clip, clip.parse({"a_min": 0, "a_max": 2}), (0,)).run(mx.nd.array([1, 5])).asnumpy()
    array([1., 2.], dtype=float32)
    """

    __slots__ = (
        "_order", "_over", "_types", "_varying", "_visible",
        "absent", "device", "exactly", "op", "p", "placed", "record", "run",
    )  # fmt: skip

    def __init__(
        self,
        op: Operator,
        p: Params,
        order: Sequence[int],
        device: Device | None = None,
        absent: int = 0,
        exactly: Exactly | None = None,
        varying: Sequence[str] = (),
    ) -> None:
        self.op = op
        self.p = p
        self.device = device
        self.absent = (None,) * absent
        self.exactly = exactly
        # Both are written when they are first needed.
        self.run: Call = self._write_and_run
        self.record: Call = self._write_and_record
        self.placed: Placed = None, {}
        self._order = tuple(order)
        self._varying = tuple(varying)
        self._visible = op.record.visible_outputs(p)
        #: Types of arrays that are not all one, and that the operator takes.
        self._types: set[tuple[torch.dtype, ...]] = set()
        #: The call that writes over inputs, by which of them the result is to be; None where there is none.
        self._over: dict[tuple[bool, ...], Call | None] = {}

    def _write_and_run(self, *given: Any) -> Any:
        self.run = self._written()
        return self.run(*given)

    def _write_and_record(self, *arrays: Any) -> Any:
        # Of several results, and where states are among them, `invoke` knows more.
        has_one = len(self.op.record.output_names(self.p)) == 1 and not self.op.returned_aux
        self.record = self._written(recorded=True) if has_one else never_plain
        return self.record(*arrays)

    def _written(
        self,
        function: Callable[..., Any] | None = None,
        over: tuple[int, ...] = (),
        recorded: bool = False,
    ) -> Call:
        """Return the call, written out: of the operator's function, or of one that writes over inputs."""
        signature = self.op.signature
        keywords = signature.keywords(self.p)
        if not recorded:  # rules of gradients are given all
            keywords = without_defaults(function or self.op.kernels.function, keywords)
        for name in self._varying:
            keywords.pop(name, None)
        device = self.device
        if not self._order and self.p.get("ctx"):
            device = device or device_of(self.p)
        pattern = Pattern(
            order=self._order,
            keywords=tuple(keywords),
            varying=self._varying,
            modes=tuple(sorted(signature.modes)),
            has_device=device is not None,
            owns_output=self.op.kernels.owns_output,
            over=over,
            recorded=recorded,
        )
        return write_call(self, function, keywords, pattern, device)

    def in_order(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the operator's inputs, of the arrays of a call."""
        return [*[arrays[place] for place in self._order], *self.absent]

    def place(self, device: Device) -> Placed:
        """Return what the operator takes for a device, and note it for the next call."""
        self.placed = device, with_modes({}, self.op.signature.modes, device)
        return self.placed

    def remember(self, arrays: Sequence[Any], made: ArrayBase) -> ArrayBase:
        """Note that an array was computed from others, inside of a record; return it."""
        history.remember(self.op, self.p, arrays, (made,))
        return made

    def take(self, result: Any, tensors: Sequence[Tensor], arrays: Sequence[Any], device: Device) -> Any:
        """Return the arrays of a result that is not one tensor: an array or a list; write the states in it."""
        if not isinstance(result, tuple):
            return wrap_tensor(unaliased_single(result, tensors, False), device)
        if self.op.returned_aux:
            result = take_states(self.op, self.p, (*arrays, *self.absent), result)
        if self._visible == 1:
            inputs = () if self.op.kernels.owns_output else tensors
            return wrap_tensor(unaliased(result[0], inputs), device)
        return [wrap_tensor(unaliased(value, tensors), device) for value in result[: self._visible]]

    def check_types(self, tensors: Sequence[Tensor]) -> None:
        """Raise the error for tensors of several types that the operator does not take."""
        types = tuple([tensor.dtype for tensor in tensors])
        if types not in self._types:
            self.op.check_types(tensors, self.p)
            self._types.add(types)

    def run_into(self, arrays: Sequence[Any], out: ArrayBase) -> ArrayBase | None:
        """Write what the operator computes into `out`, and return it; None where the plain case is not given.

        >>> import rebind as mx
        >>> from rebind.ops import find
        >>> add, x = find("elemwise_add"), mx.nd.ones((2,))
        >>> Form(add, add.parse({}), (0, 1)).run_into((x, x), x).asnumpy()
        array([2., 2.], dtype=float32)
        """
        if self.op.kernels.writes_over:
            which = tuple([array is out for array in arrays])
            if which not in self._over:
                self._over[which] = self._written_over(arrays, out)
            write = self._over[which]
            if write is not None and (written := write(*arrays)) is not None:
                return written
        if mode.recording or not isinstance(out.storage, DenseStorage):
            return None
        result = self.run(*arrays)
        if not isinstance(result, ArrayBase) or result.storage.shape != out.storage.shape:
            return None
        out.write(result.tensor)
        return out

    def _written_over(self, arrays: Sequence[Any], out: ArrayBase) -> Call | None:
        inputs = self.in_order(arrays)
        function = self.op.kernel_over(inputs, (out,), self.p)
        return function and self._written(
            function, tuple([i for i, array in enumerate(inputs) if array is out])
        )
