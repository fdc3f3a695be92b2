"""Gradients in 2 bits or 1 bit for each element; what was not sent is retained, and added to the next gradient."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor

from ..checks import warn_user
from ..errors import ArgumentError, DTypeError, NonFiniteError, ParameterError, near_names
from ..ndarray import NDArray
from ..protocols import StateTree
from ..tuning import current

__all__ = ["Compression", "Residuals"]

Key: TypeAlias = "str | int"
Kind: TypeAlias = Literal["2bit", "1bit"]

#: Bits for each element, in planes of one bit: the plane of the positive elements, then that of the negative ones.
_PLANES: dict[Kind, int] = {"2bit": 2, "1bit": 1}
_WHO = "KVStore.set_gradient_compression"


@dataclass(frozen=True)
class Compression:
    """How gradients are compressed, with error feedback: what a message leaves out is added to later ones.

    The residual is what was not sent so far. Each gradient is first added to it. With ``'2bit'`` an element of the
    residual that is `threshold` or more is sent as ``+threshold``, one that is ``-threshold`` or less as
    ``-threshold``, and any other as 0; with ``'1bit'`` one above `threshold` is sent as +1, any other as -1. What is
    sent is subtracted from the residual.

    Unlike in MXNet, a gradient that is NaN is received as NaN: there it is 0 for ever. (1 bit has no room for it, so
    that it is an error.)

    Parameters
    ----------
    type
        ``'2bit'``, or ``'1bit'`` by the definition of MXNet's later versions.
    threshold
        More than 0; best somewhat above the usual size of a gradient's elements.

    Examples
    --------
    >>> compression, residual = Compression("2bit", threshold=0.5), torch.zeros(5)
    >>> packed = compression.quantize(torch.tensor([0.4, 1.2, -0.7, 0.5, 0.0]), residual)
    >>> compression.dequantize(packed, 5)
    tensor([ 0.0000,  0.5000, -0.5000,  0.5000,  0.0000])
    >>> residual
    tensor([ 0.4000,  0.7000, -0.2000,  0.0000,  0.0000])
    """

    type: Kind
    threshold: float = 0.5

    @classmethod
    def of(cls, params: Mapping[str, object]) -> Compression | None:
        """Return what MXNet's `compression_params` say; None for the type ``'none'``.

        Raises
        ------
        ParameterError
            For another type, or a threshold that is not a number above 0.

        Examples
        --------
        >>> Compression.of({"type": "2bit", "threshold": "0.25"})
        Compression(type='2bit', threshold=0.25)
        """
        if not isinstance(params, Mapping):
            raise ArgumentError(
                f"{_WHO}: compression_params must be a dict such as {{'type': '2bit'}}; got {params!r}"
            )
        if unknown := [key for key in params if key not in ("type", "threshold")]:
            warn_user(
                f"{_WHO}: compression_params has the unknown key {unknown[0]!r}, which is ignored"
                f"{near_names(str(unknown[0]), ['type', 'threshold'])}"
            )
        kinds = [*_PLANES, "none"]
        kind = params.get("type")
        if kind not in kinds:
            raise ParameterError(
                f"{_WHO}: type must be one of {', '.join(map(repr, kinds))}; got "
                f"{repr(kind) if 'type' in params else 'none in ' + repr(dict(params))}"
            )
        threshold = _threshold(params.get("threshold", cls.threshold))
        return None if kind == "none" else cls(cast(Kind, kind), threshold)

    def packed_size(self, count: int) -> int:
        """Return how many bytes so many elements take.

        >>> Compression("2bit").packed_size(64), Compression("1bit").packed_size(64)
        (16, 8)
        """
        return _PLANES[self.type] * -(-count // 8)

    def residual_for(self, gradient: Tensor) -> Tensor:
        """Return a new residual for gradients like this one: zeros, in float32 for the smaller types.

        >>> Compression("2bit").residual_for(torch.ones(2, dtype=torch.float16))
        tensor([0., 0.])
        """
        if not gradient.dtype.is_floating_point:
            raise DTypeError(
                f"KVStore.push: a gradient must be of a floating type to be compressed; got {gradient.dtype}"
            )
        return torch.zeros_like(gradient, dtype=torch.promote_types(gradient.dtype, torch.float32))

    def quantize(self, gradient: Tensor, residual: Tensor) -> Tensor:
        """Add a gradient to the residual, and return what is sent of it, packed; the residual keeps the rest.

        Parameters
        ----------
        gradient
            Without further axes.
        residual
            From `residual_for`; written in place.

        Raises
        ------
        NonFiniteError
            With ``'1bit'``, for NaN.

        Examples
        --------
        >>> Compression("1bit").quantize(torch.tensor([1.0, 1.0, -1.0] * 8), torch.zeros(24))
        tensor([219, 109, 182], dtype=torch.uint8)
        """
        count = gradient.numel()
        packed = gradient.new_empty(self.packed_size(count), dtype=torch.uint8)
        planes = packed.view(_PLANES[self.type], -1)
        if not packed.is_cpu:
            self._quantize_by_torch(gradient, residual, planes)
            return packed
        for block, bytes_ in _blocks(count):
            held = residual[block]
            held += gradient[block]
            self._quantize_block(held.numpy(), planes.numpy()[:, bytes_])
        return packed

    def _quantize_block(self, held: np.ndarray, planes: np.ndarray) -> None:
        """Write the bits of a block, and subtract what they say; by NumPy, which is faster here than PyTorch."""
        level = held.dtype.type(self.threshold)
        if self.type == "1bit":
            above = held > level
            if np.isnan(held).any():
                raise _not_a_number()
            planes[0] = np.packbits(above)
            np.subtract(held, above.view(np.int8) * np.int8(2) - np.int8(1), out=held)
            return
        # Asked this way round, NaN sets both bits.
        not_up, not_down = held < level, held > -level
        planes[0] = ~np.packbits(not_up)
        planes[1] = ~np.packbits(not_down)
        if rest := held.size % 8:
            planes[:, -1] &= 0xFF00 >> rest & 0xFF
        sent = not_down.view(np.int8) - not_up.view(np.int8)
        np.subtract(held, np.multiply(sent, level, dtype=held.dtype), out=held)

    def _quantize_by_torch(self, gradient: Tensor, residual: Tensor, planes: Tensor) -> None:
        # The same on other devices, where NumPy has no access.
        residual += gradient
        if self.type == "1bit":
            if bool(residual.isnan().any()):
                raise _not_a_number()
            above = residual > self.threshold
            planes[0] = _packed_by_torch(above)
            residual -= above * 2 - 1
            return
        up, down = ~(residual < self.threshold), ~(residual > -self.threshold)
        planes[0], planes[1] = _packed_by_torch(up), _packed_by_torch(down)
        residual.sub_(up.to(dtype=residual.dtype) - down.to(dtype=residual.dtype), alpha=self.threshold)

    def dequantize(self, packed: Tensor, count: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return the elements that were sent.

        >>> compression = Compression("1bit")
        >>> compression.dequantize(compression.quantize(torch.tensor([3.0, -3.0]), torch.zeros(2)), 2)
        tensor([ 1., -1.])
        """
        found = torch.zeros(count, dtype=dtype, device=packed.device)
        self.add_to(found, packed)
        return found

    def add_to(self, total: Tensor, packed: Tensor) -> None:
        """Add the elements that were sent to an array, in place.

        >>> compression, total = Compression("2bit"), torch.ones(2)
        >>> compression.add_to(total, compression.quantize(torch.tensor([3.0, -3.0]), torch.zeros(2)))
        >>> total
        tensor([1.5000, 0.5000])
        """
        planes = packed.view(_PLANES[self.type], -1)
        blocks = _blocks(total.numel()) if packed.is_cpu else [(slice(None), slice(None))]
        for block, bytes_ in blocks:
            target = total[block]
            up, *rest = (_unpacked(plane[bytes_], target.numel()) for plane in planes)
            if self.type == "1bit":
                target += up * 2 - 1
                continue
            [down] = rest
            target.add_(up - down, alpha=self.threshold)
            if bool((planes[0, bytes_] & planes[1, bytes_]).any()):
                target[(up & down).bool()] = math.nan


class Residuals:
    """What was not sent so far, for each key and device.

    Parameters
    ----------
    compression
        How gradients are compressed; it may be exchanged for another while training goes on.

    Examples
    --------
    >>> residuals = Residuals(Compression("2bit"))
    >>> residuals.quantized("w", torch.tensor([0.75]))
    tensor([128,   0], dtype=torch.uint8)
    >>> residuals.state_dict()["residuals"]["w"][0].asnumpy()
    array([0.25], dtype=float32)
    """

    def __init__(self, compression: Compression) -> None:
        self.compression = compression
        self._by_key: dict[Key, dict[int, Tensor]] = {}

    def of(self, key: Key, gradient: Tensor, device: int = 0) -> Tensor:
        """Return the residual of a key for gradients like this one, from the device of this number; zeros at first.

        >>> Residuals(Compression("2bit")).of("w", torch.ones(2))
        tensor([0., 0.])
        """
        by_device = self._by_key.setdefault(key, {})
        found = by_device.get(device)
        if found is None or found.numel() != gradient.numel():
            found = by_device[device] = self.compression.residual_for(gradient)
        elif found.device != gradient.device:  # it came from a file, or training has moved
            found = by_device[device] = found.to(gradient.device)
        return found

    def quantized(self, key: Key, gradient: Tensor, device: int = 0) -> Tensor:
        """Return what is sent of a gradient without further axes, packed.

        >>> Residuals(Compression("1bit")).quantized("w", torch.ones(8))
        tensor([255], dtype=torch.uint8)
        """
        return self.compression.quantize(gradient, self.of(key, gradient, device))

    def sent(self, key: Key, gradient: NDArray, device: int = 0) -> NDArray:
        """Return what the receiver of a gradient gets, for a gradient that need not travel.

        >>> import rebind as mx
        >>> Residuals(Compression("2bit")).sent("w", mx.nd.array([[0.75], [0.25]])).asnumpy().tolist()
        [[0.5], [0.0]]
        """
        flat = gradient.tensor.detach().reshape(-1)
        found = self.compression.dequantize(self.quantized(key, flat, device), flat.numel(), flat.dtype)
        return NDArray(found.view(gradient.shape), gradient.context)

    def state_dict(self) -> StateTree:
        """Return the residuals, for each key a list by device; they belong to this process."""
        return {
            "residuals": {
                key: [NDArray(by_device[device].clone()) for device in sorted(by_device)]
                for key, by_device in self._by_key.items()
            }
        }

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned.

        >>> one, two = (Residuals(Compression("2bit", threshold=4)) for _ in range(2))
        >>> _ = one.quantized("w", torch.ones(1))
        >>> two.load_state_dict(one.state_dict())
        >>> two.of("w", torch.ones(1))
        tensor([1.])
        """
        saved = cast(Mapping[Key, Sequence[NDArray]], state.get("residuals", {}))
        self._by_key = {
            key: {device: array.tensor.clone().view(-1) for device, array in enumerate(arrays)}
            for key, arrays in saved.items()
        }


def _threshold(value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]  # what has no number raises
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise ParameterError(f"{_WHO}: threshold must be a number above 0; got {value!r}")
    return number


def _blocks(count: int) -> Iterator[tuple[slice, slice]]:
    """Return the blocks of so many elements, and where the bits of each are in a plane, in bytes."""
    length = current().compression_block_elements
    for at in range(0, count, length):
        end = min(at + length, count)
        yield slice(at, end), slice(at // 8, -(-end // 8))


def _not_a_number() -> NonFiniteError:
    return NonFiniteError(
        "KVStore.push: a gradient must be finite to be sent in 1 bit for each element; got NaN"
    )


def _shifts(like: Tensor) -> Tensor:
    return torch.arange(7, -1, -1, dtype=torch.uint8, device=like.device)


def _packed_by_torch(bits: Tensor) -> Tensor:
    rows = torch.nn.functional.pad(bits.to(dtype=torch.uint8), (0, -bits.numel() % 8)).view(-1, 8)
    return (rows << _shifts(bits)).sum(1, dtype=torch.uint8)


def _unpacked(plane: Tensor, count: int) -> Tensor:
    """Return bits as int8."""
    if plane.is_cpu:
        return torch.from_numpy(np.unpackbits(plane.numpy(), count=count).view(np.int8))
    return _unpacked_by_torch(plane, count)


def _unpacked_by_torch(plane: Tensor, count: int) -> Tensor:
    return (plane[:, None] >> _shifts(plane) & 1).view(-1)[:count].view(torch.int8)
