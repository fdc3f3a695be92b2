"""Training in mixed precision: losses are scaled, so that small gradients do not underflow in float16."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from operator import mul
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ...errors import ArgumentError, StateError
from ...module.base_module import BaseModule
from ...ndarray import NDArray
from ...optimizer import Optimizer, Updater
from .loss_scaler import LossScaler

__all__ = ["init_trainer", "loss_scaler_of", "scale_loss", "unscale"]

Loss = TypeVar("Loss", NDArray, list[NDArray], tuple[NDArray, ...])


class _Scaled(NamedTuple):
    """The scaler of an optimizer's losses, and its own `rescale_grad`."""

    scaler: LossScaler
    rescale_grad: float  # without the scale


# Beside the optimizer, since an optimizer cannot tell the scale in its `rescale_grad` from the user's own factor.
_scaled: WeakKeyDictionary[Optimizer, _Scaled] = WeakKeyDictionary()


def init_trainer(
    optimizer_or_trainer: BaseModule | Optimizer | Updater, loss_scaler: LossScaler | None = None
) -> None:
    """Scale the losses of a training run, so that small gradients do not underflow in float16.

    The scale follows the gradients (`LossScaler`). bfloat16, with the range of float32, does not need it.

    Parameters
    ----------
    optimizer_or_trainer
        A module that has a network, before `bind`: `fit` and `update` do the rest. A batch whose gradients overflow
        changes no parameter and halves the scale. Between `backward` and `update`, gradients (those of inputs too)
        contain the scale; `unscale` divides by it. Or an `Optimizer` or `Updater`, for a loop of one's own with
        `scale_loss`.
    loss_scaler
        The scaler, for settings other than the defaults.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.contrib import amp
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(amp.convert_symbol(mx.sym.SoftmaxOutput(net, name="softmax")))
    >>> init_trainer(module)  # then bind() and what follows, or fit()
    """
    scaler = LossScaler() if loss_scaler is None else loss_scaler
    if not isinstance(scaler, LossScaler):
        raise ArgumentError(f"amp.init_trainer: loss_scaler must be a LossScaler; got {loss_scaler!r}")
    target = _optimizer_of(optimizer_or_trainer)
    if isinstance(target, Optimizer):
        # The user's factor, as it is now: `scale_loss` divides this one, not its own result.
        _scaled[target] = _Scaled(scaler, target.rescale_grad)
    elif isinstance(target, BaseModule):
        if target.binded:
            raise StateError(
                "amp.init_trainer: must come before bind(), which builds the scale into the network"
            )
        target.use_loss_scaler(scaler)
    else:
        raise ArgumentError(
            "amp.init_trainer: must be given a Module, an Optimizer or an Updater (gluon.Trainer is not part of "
            f"rebind); got {optimizer_or_trainer!r}"
        )


def loss_scaler_of(optimizer: Optimizer | Updater) -> LossScaler:
    """Return the scaler that `init_trainer` gave an optimizer.

    >>> from rebind.optimizer import create
    >>> optimizer = create("sgd")
    >>> init_trainer(optimizer)
    >>> loss_scaler_of(optimizer).loss_scale
    65536.0
    """
    return _find(optimizer).scaler


@contextlib.contextmanager
def scale_loss(loss: Loss, optimizer_or_trainer: Optimizer | Updater) -> Iterator[Loss]:
    """Yield a loss, or a list of losses, multiplied by the scale: for `autograd.backward`.

    The optimizer divides by it in the updates that follow, until the next `scale_loss`. Ask
    ``loss_scaler_of(optimizer).has_overflow(gradients)`` before them, and skip them when there is one.

    Parameters
    ----------
    loss
        An array, or a list of arrays.
    optimizer_or_trainer
        The `Optimizer` or `Updater` that `init_trainer` was given.

    Examples
    --------
    >>> import rebind as mx
    >>> sgd = mx.optimizer.create("sgd", learning_rate=1)
    >>> init_trainer(sgd, LossScaler(init_scale=8))
    >>> weight = mx.nd.array([5.0])
    >>> weight.attach_grad()
    >>> with mx.autograd.record():
    ...     loss = 2 * weight
    ...     with scale_loss(loss, sgd) as scaled:
    ...         mx.autograd.backward(scaled)
    >>> weight.grad.item()
    16.0
    >>> sgd.update(0, weight, weight.grad, None)
    >>> weight.item()
    3.0
    """
    if isinstance(optimizer_or_trainer, BaseModule):
        raise ArgumentError("amp.scale_loss: a module scales its own losses; only call init_trainer(module)")
    scaler, rescale_grad = _find(optimizer_or_trainer)
    scale = scaler.loss_scale
    target = _optimizer_of(optimizer_or_trainer)
    assert isinstance(target, Optimizer)  # _find has found it
    target.rescale_grad = rescale_grad / scale
    yield (
        type(loss)(mul(each, scale) for each in loss) if isinstance(loss, (list, tuple)) else mul(loss, scale)
    )


def unscale(optimizer_or_trainer: BaseModule) -> None:
    """Divide a module's gradients by the scale, to work on them between `backward` and `update`.

    Parameters
    ----------
    optimizer_or_trainer
        A module that `init_trainer` was given.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    >>> module = mx.mod.Module(mx.sym.LinearRegressionOutput(net, name="lro"), label_names=["lro_label"])
    >>> init_trainer(module, LossScaler(init_scale=8))
    >>> module.bind([("data", (1, 1))], [("lro_label", (1, 1))])
    >>> module.init_params(mx.init.Zero())
    >>> batch = mx.io.DataBatch([mx.nd.ones((1, 1))], [mx.nd.ones((1, 1))])
    >>> module.forward_backward(batch)
    >>> gradient = module.gradients_by_device()[0]["fc_weight"]
    >>> gradient.item()
    -8.0
    >>> unscale(module)
    >>> gradient.item()
    -1.0
    """
    module = optimizer_or_trainer
    if not isinstance(module, BaseModule) or module.loss_scaler is None:
        raise StateError("amp.unscale: needs a module that init_trainer() was given")
    module.loss_scaler.unscale(module.scaled_gradients())


def _optimizer_of(target: BaseModule | Optimizer | Updater) -> BaseModule | Optimizer:
    return target.optimizer if isinstance(target, Updater) else target


def _find(optimizer: Optimizer | Updater) -> _Scaled:
    target = _optimizer_of(optimizer)
    found = _scaled.get(target) if isinstance(target, Optimizer) else None
    if found is None:
        raise StateError("amp.scale_loss: needs init_trainer() with this optimizer first")
    return found
