"""`LossScaler`: the factor on losses in float16, without which small gradients underflow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypedDict, cast

import torch
from torch import Tensor

from ..._torch import foreach
from ...errors import ArgumentError, ParameterError
from ...graph.passes import scale_losses
from ...logs import log
from ...module.optimizer_setup import rescaled
from ...ndarray import NDArray
from ...ndarray.storage import DenseStorage
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

    `amp.init_trainer` gives one to a module; then `Module.update` skips a batch whose gradients are not all
    finite, and divides by the scale otherwise.

    Parameters
    ----------
    init_scale
        The scale of the first batch.
    scale_factor
        What the scale is multiplied and divided by.
    scale_window
        The number of updates without an overflow after which the scale grows.
    max_scale
        The largest scale.

    Attributes
    ----------
    skipped
        How many batches were skipped.

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
        # A tensor, which compiled networks read: a new scale is no new code.
        self._scale = torch.tensor(float(init_scale), dtype=torch.float64)
        self._factor = float(scale_factor)
        self._max_loss_scale = float(max_scale)
        self._scale_seq_len = scale_window
        self._unskipped = 0
        self.skipped = 0
        self._unscaled = False  # whether the current gradients have been divided by the scale already

    @property
    def loss_scale(self) -> float:
        """The scale of the next batch.

        >>> LossScaler(init_scale=1024).loss_scale
        1024.0
        """
        return self._scale.item()

    def has_overflow(self, params: Gradients, on_any_worker: Callable[[bool], bool] = bool) -> bool:
        """Return whether gradients are not all finite, and change the scale accordingly.

        Parameters
        ----------
        params
            Gradients: arrays, or lists with an array for each device, whose sum must be finite too.
        on_any_worker
            Returns whether a condition holds on one of the workers that update together.

        Examples
        --------
        >>> import rebind as mx
        >>> scaler = LossScaler(init_scale=1024, scale_window=2)
        >>> for gradient in (1, float("nan"), 1, 1):
        ...     scaler.has_overflow([mx.nd.array([gradient])]), scaler.loss_scale
        (False, 1024.0)
        (True, 512.0)
        (False, 512.0)
        (False, 1024.0)
        """
        overflow = on_any_worker(not _all_finite(params))
        if overflow:
            self._scale /= self._factor
            self._unskipped = 0
            self.skipped += 1
            log().info("AMP: gradients overflow; the loss scale becomes %g", self.loss_scale)
        else:
            self._unskipped += 1
            # Up again after a while: the scale should be the largest one that fits, and gradients shrink in training.
            if self._unskipped == self._scale_seq_len:
                self._unskipped = 0
                self._scale.mul_(self._factor).clamp_(max=self._max_loss_scale)
        return overflow

    def scaled(self, symbol: Symbol, *, outputs: bool = True) -> Symbol:
        """Return `symbol` with its gradients multiplied by the scale at the time when `backward` runs.

        Without `outputs`, head gradients are left as they are: they contain the scale already.

        >>> import rebind as mx
        >>> net = LossScaler(init_scale=8).scaled(mx.sym.MakeLoss(mx.sym.var("x")))
        >>> exe = net.bind(mx.cpu(), [mx.nd.ones((1,))], [mx.nd.zeros((1,))])
        >>> _ = exe.forward(is_train=True)
        >>> exe.backward()
        >>> exe.grad_arrays[0].item()
        8.0
        """
        return symbol.with_graph(scale_losses(symbol.graph, lambda: self._scale, outputs=outputs))

    def update(
        self,
        optimizers: Iterable[Optimizer],
        gradients: Gradients,
        apply: Callable[[], None],
        on_any_worker: Callable[[bool], bool] = bool,
    ) -> bool:
        """Call `apply`, which updates the weights, if all gradients are finite; return whether they were.

        Where workers update together, `on_any_worker` returns whether a condition holds on one: all update, or none.
        Meanwhile the optimizers' `rescale_grad` contains the scale: a gradient for a master copy is cast to float32
        first, where dividing by the scale does not underflow.

        >>> import rebind as mx
        >>> sgd = mx.optimizer.create("sgd", learning_rate=1)
        >>> weight, gradient = mx.nd.array([5.0]), mx.nd.array([8.0])
        >>> LossScaler(init_scale=8).update([sgd], [gradient], lambda: sgd.update(0, weight, gradient, None))
        True
        >>> weight.item()
        4.0
        """
        # Gradients that `unscale` divided are plain; for others the optimizer divides, in its own factor.
        scale = 1.0 if self._unscaled else self.loss_scale
        self._unscaled = False
        if self.has_overflow(gradients, on_any_worker):
            return False
        with rescaled(optimizers, 1.0 / scale):
            apply()
        return True

    def unscale(self, gradients: Gradients) -> None:
        """Divide gradients by the scale, before `update`; a second call does nothing.

        >>> import rebind as mx
        >>> gradient = mx.nd.array([16.0])
        >>> LossScaler(init_scale=8).unscale([gradient])
        >>> gradient.item()
        2.0
        """
        if not self._unscaled:
            arrays = _arrays(gradients)
            tensors = [array.tensor.detach() for array in arrays]
            foreach.mul_(tensors, 1.0 / self.loss_scale)
            for array, tensor in zip(arrays, tensors, strict=True):
                if not isinstance(array.storage, DenseStorage):  # sparse: what was multiplied is a dense copy
                    array.write_unrecorded(tensor)
            self._unscaled = True

    def state_dict(self) -> StateTree:
        """Return the scale and the counts.

        >>> LossScaler(init_scale=8).state_dict()
        {'scale': 8.0, 'unskipped': 0, 'skipped': 0}
        """
        return {"scale": self.loss_scale, "unskipped": self._unskipped, "skipped": self.skipped}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned.

        >>> scaler = LossScaler()
        >>> scaler.load_state_dict(LossScaler(init_scale=8).state_dict())
        >>> scaler.loss_scale
        8.0
        """
        saved = cast(ScalerState, state)
        self._scale.fill_(saved["scale"])
        self._unskipped = saved["unskipped"]
        self.skipped = saved["skipped"]


def _all_finite(params: Gradients) -> bool:
    """Return whether all arrays are finite, waiting for each device once."""
    groups: dict[tuple[torch.device, torch.dtype, int], list[Tensor]] = {}
    for param in params:
        tensors = [array.tensor for array in _arrays([param])]
        for tensor in tensors:
            if tensor.is_floating_point() and tensor.numel():
                groups.setdefault((tensor.device, tensor.dtype, len(tensors)), []).append(tensor.detach())
    # The largest absolute value of each array is NaN or infinite where one of its elements is: `foreach.norm` finds
    # all of them in a few launches, where `isfinite` would need one and a mask for each array.
    for (_, _, devices), tensors in groups.items():
        largest = torch.stack(foreach.norm(tensors, float("inf")))
        # The sum over the devices, which is taken later, must fit into the type too.
        if not bool(torch.isfinite(largest.max() * devices)):
            return False
    return True


def _arrays(params: Gradients) -> list[NDArray]:
    """Return arrays, and those of lists with an array for each device."""
    arrays = []
    for array in (each for p in params for each in (p if isinstance(p, (list, tuple)) else [p])):
        if not isinstance(array, NDArray):
            raise ArgumentError(f"LossScaler: gradients must be NDArrays; got {array!r}")
        arrays.append(array)
    return arrays
