"""What `fit` gives a module before the first batch."""

from __future__ import annotations

from functools import partial

from ..checks import warn_user
from ..errors import StateError
from ..overriding import overrides
from .data_checks import check_layouts
from .descs import read_descs
from .optimizer_setup import ignored_optimizer
from .preflight import check_multipliers
from .run_settings import optimizers_of
from .settings import FitSettings
from .steps import Steps

__all__ = ["prepare"]


def prepare(module: Steps, settings: FitSettings) -> None:
    """Bind a module, and give it parameters and an optimizer, where it has none.

    >>> import rebind as mx
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.var("data"), mx.sym.var("label"))
    >>> module = mx.mod.Module(net, label_names=["label"])
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 1)), mx.nd.ones((4, 1)), 2, label_name="label")
    >>> prepare(module, FitSettings(train_data=data, eval_metric="mse", num_epoch=1))
    >>> module.binded, module.params_initialized, module.optimizer_initialized
    (True, True, True)
    """
    # Gradients that are summed need another binding than those that are not.
    changed = module.binded and settings.accumulate != module.batches_per_update
    module.batches_per_update = settings.accumulate
    if not module.binded or settings.force_rebind or changed or overrides(module, "bind"):
        _bind(module, settings, force_rebind=settings.force_rebind or changed)
    elif (binding := getattr(module, "binding", None)) is not None and not binding.for_training:
        raise StateError(
            "fit: the module must be bound with for_training=True; got False. Give force_rebind=True."
        )
    if settings.monitor is not None:
        module.install_monitor(settings.monitor)
    _init_params(module, settings)
    _init_optimizer(module, settings)
    check_multipliers(optimizers_of(module), module)


# A module of ours that is prepared already is not asked again: it would warn that the call changes nothing.


def _bind(module: Steps, settings: FitSettings, *, force_rebind: bool) -> None:
    # A user's own module need not know `grad_req`.
    bind = module.bind if settings.accumulate == 1 else partial(module.bind, grad_req="add")
    data = settings.train_data.provide_data
    check_layouts(module.symbol, read_descs(data, "data_shapes"))
    bind(
        data_shapes=data,
        label_shapes=getattr(settings.train_data, "provide_label", None),
        for_training=True,
        force_rebind=force_rebind,
    )


def _init_params(module: Steps, settings: FitSettings) -> None:
    values = settings.values
    has_values = module.params_initialized and not overrides(module, "init_params")
    if has_values and not values.force_init:
        if values.arg_params or values.aux_params:
            warn_user(
                "fit: the parameters have values already, so arg_params and aux_params are not used. Set "
                "force_init=True to use them."
            )
        return
    module.init_params(
        initializer=values.initializer,
        arg_params=values.arg_params,
        aux_params=values.aux_params,
        allow_missing=values.allow_missing,
        force_init=values.force_init,
    )


def _init_optimizer(module: Steps, settings: FitSettings) -> None:
    update = settings.optimizer
    if not module.optimizer_initialized or overrides(module, "init_optimizer"):
        module.init_optimizer(
            kvstore=update.kvstore, optimizer=update.optimizer, optimizer_params=update.optimizer_params
        )
    elif text := ignored_optimizer(update, optimizers_of(module)):
        warn_user(
            f"fit: the module has an optimizer already, so {text} is not used. Call "
            "init_optimizer(..., force_init=True) first to start over with another."
        )
