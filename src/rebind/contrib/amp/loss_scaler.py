"""`LossScaler`: how much the gradients of a run in float16 are scaled, so that small ones are not lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypedDict, cast

import torch
from torch import Tensor

from ...errors import ArgumentError, ParameterError
from ...graph.passes import scale_losses
from ...module.optimizer_setup import rescaled
from ...ndarray import NDArray
from ...optimizer import Optimizer
from ...protocols import StateTree
from ...symbol import Symbol

__all__ = ["LossScaler"]

#: Arrays, or lists with an array for each device.
Gradients: TypeAlias = Iterable[NDArray | Sequence[NDArray]]


class ScalerState(TypedDict):
    """What `LossScaler.state_dict` returns."""

    scale: float
    unskipped: int
    skipped: int


class LossScaler:
    """A scale for losses that follows the gradients: halved when they overflow, doubled after many batches.

    `amp.init_trainer` gives one to a module; then `Module.update` leaves out a batch whose gradients are not all
    finite, and divides by the scale otherwise.

    Parameters
    ----------
    init_scale
        The scale of the first batch.
    scale_factor
        What the scale is multiplied and divided by.
    scale_window
        After how many updates without an overflow the scale grows.
    max_scale
        What it does not grow beyond.

    Attributes
    ----------
    loss_scale
        The scale of the next batch.
    skipped
        How many batches were left out.

    Examples
    --------
    >>> import rebind as mx
    >>> scaler = LossScaler()
    >>> scaler.has_overflow([mx.nd.array([float("inf"), 1.0])]), scaler.loss_scale
    (True, 32768.0)
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        scale_factor: float = 2.0,
        scale_window: int = 2000,
        max_scale: float = 2.0**24,
    ) -> None:
        if not (0 < init_scale <= max_scale and scale_factor > 1 and scale_window > 0):
            raise ParameterError(
                "LossScaler: 0 < init_scale <= max_scale, scale_factor > 1 and scale_window > 0 must hold; got "
                f"init_scale={init_scale}, max_scale={max_scale}, scale_factor={scale_factor}, "
                f"scale_window={scale_window}"
            )
        self._loss_scale = float(init_scale)
        self._factor = float(scale_factor)
        self._max_loss_scale = float(max_scale)
        self._scale_seq_len = scale_window
        self._unskipped = 0
        self.skipped = 0
        self._unscaled = False  # whether the gradients at hand do not hold the scale any more

    @property
    def loss_scale(self) -> float:
        """The scale of the next batch."""
        return self._loss_scale

    def has_overflow(self, params: Gradients) -> bool:
        """Return whether gradients are not all finite, and change the scale accordingly.

        Parameters
        ----------
        params
            Gradients: arrays, or lists with an array for each device, whose sum must be finite too.
        """
        overflow = not _all_finite(params)
        if overflow:
            self._loss_scale /= self._factor
            self._unskipped = 0
            self.skipped += 1
            logging.info("AMP: gradients overflow; the loss scale becomes %g", self._loss_scale)
        else:
            self._unskipped += 1
            if self._unskipped == self._scale_seq_len:
                self._unskipped = 0
                self._loss_scale = min(self._max_loss_scale, self._loss_scale * self._factor)
        return overflow

    # What a module asks for.

    def scaled(self, symbol: Symbol, *, outputs: bool = True) -> Symbol:
        """Return `symbol` with gradients multiplied by the scale that holds when `backward` runs.

        Without `outputs`, gradients that come in through the outputs stay: they hold the scale already.
        """
        return symbol.with_graph(scale_losses(symbol.graph, lambda: self._loss_scale, outputs=outputs))

    def update(
        self, optimizers: Iterable[Optimizer], gradients: Gradients, apply: Callable[[], None]
    ) -> bool:
        """Call `apply`, which updates weights by the optimizers, if all gradients are finite; return whether they were.

        The optimizers' `rescale_grad` holds the scale meanwhile: masters of float32 get gradients of full range.
        """
        scale = 1.0 if self._unscaled else self._loss_scale
        self._unscaled = False
        if self.has_overflow(gradients):
            return False
        with rescaled(optimizers, 1.0 / scale):
            apply()
        return True

    def unscale(self, gradients: Gradients) -> None:
        """Divide gradients by the scale, before the `update` that they are for; a second call does nothing."""
        if not self._unscaled:
            arrays = _arrays(gradients)
            tensors = [array.tensor.detach() for array in arrays]
            torch._foreach_mul_(tensors, 1.0 / self._loss_scale)
            for array, tensor in zip(arrays, tensors, strict=True):
                if array.storage.tensor is None:  # what was multiplied is a dense copy
                    array.write_unrecorded(tensor)
            self._unscaled = True

    def state_dict(self) -> StateTree:
        """Return the scale and the counts."""
        return {"scale": self._loss_scale, "unskipped": self._unskipped, "skipped": self.skipped}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""
        saved = cast(ScalerState, state)
        self._loss_scale, self._unskipped = saved["scale"], saved["unskipped"]
        self.skipped = saved["skipped"]


def _all_finite(params: Gradients) -> bool:
    """Return whether all arrays are finite, with one question to each device."""
    groups: dict[tuple[torch.device, torch.dtype, int], list[Tensor]] = {}
    for param in params:
        tensors = [array.tensor for array in _arrays([param])]
        for tensor in tensors:
            if tensor.is_floating_point() and tensor.numel():
                groups.setdefault((tensor.device, tensor.dtype, len(tensors)), []).append(tensor.detach())
    for (_, _, devices), tensors in groups.items():
        largest = torch.stack(torch._foreach_norm(tensors, float("inf")))
        # The sum over the devices, which comes later, must fit into the type too.
        if not bool(torch.isfinite(largest.max() * devices)):
            return False
    return True


def _arrays(params: Gradients) -> list[NDArray]:
    """Return arrays, and those of lists with an array for each device."""
    arrays = []
    for array in (each for p in params for each in (p if isinstance(p, (list, tuple)) else [p])):
        if not isinstance(array, NDArray):
            raise ArgumentError(f"LossScaler: must be given gradients, which are NDArrays; got {array!r}")
        arrays.append(array)
    return arrays
