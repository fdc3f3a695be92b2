"""Calls of operators that repeat an earlier one: `Form` has what was read of the arguments, and runs the plain case.

Most calls of a program have the form of an earlier one: the same number of arrays, the same parameters. Nothing of
these is read again, and what they compute takes the shortest way, as long as nothing is recorded and the arrays are
dense and of one type. All else is for `invoke`, which knows every case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..device import Device
from ..grad_mode import is_grad_enabled, set_grad_enabled
from ..ops import Operator
from ..params import Params
from ..precision import active_rules
from .base import ArrayBase, wrap_tensor
from .compute import device_of, raise_explained, unaliased, unaliased_single, with_modes
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

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.ops import find
    >>> clip = find("clip")
    >>> Form(clip, clip.parse({"a_min": 0, "a_max": 2})).run((mx.nd.array([1, 5]),)).asnumpy()
    array([1., 2.], dtype=float32)
    """

    __slots__ = ("array_class", "device", "keywords", "modes", "op", "p")

    def __init__(self, op: Operator, p: Params, device: Device | None = None) -> None:
        self.op = op
        self.p = p
        self.device = device
        self.keywords = op.signature.keywords(p)
        self.modes = op.signature.modes
        self.array_class = DenseStorage.array_class

    def run(self, arrays: Sequence[Any], changed: Mapping[str, object] | None = None) -> Any:
        """Return what the operator computes from arrays, an array or a list; None where the plain case is not given.

        Parameters
        ----------
        arrays
            What was given for arrays; the plain case is dense arrays of one type.
        changed
            Parameters, parsed, that go over those of the form.
        """
        if mode.recording or active_rules() is not None:
            return None
        # From here on every step counts: most calls of nd.X come through here.
        array_class, device = self.array_class, self.device
        tensors: list[Tensor] = []
        dtype = None
        array: ArrayBase
        for array in arrays:
            if array.__class__ is not array_class or (tensor := array.storage.tensor) is None:
                return None
            if dtype is None:
                dtype = tensor.dtype
                device = device or array.device
            elif tensor.dtype is not dtype:
                return None
            tensors.append(tensor)
        keywords = self.keywords if changed is None else {**self.keywords, **changed}
        device = device or device_of(self.p)
        if self.modes:
            keywords = with_modes(keywords, self.modes, device)
        before = is_grad_enabled()
        if before:
            set_grad_enabled(False)
        try:
            function = self.op.kernels.function
            result = function(*tensors, **keywords) if keywords else function(*tensors)
            # The class first: isinstance() takes three times as long, as it asks a tensor for its class as well.
            if result.__class__ is Tensor or not isinstance(result, tuple):
                aliased, place = result._is_view(), result.data_ptr()
                for tensor in tensors:
                    aliased = aliased or tensor.data_ptr() == place
                return wrap_tensor(unaliased_single(result, tensors, False) if aliased else result, device)
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
