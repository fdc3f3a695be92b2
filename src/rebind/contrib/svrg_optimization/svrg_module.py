"""`SVRGModule`: a module that trains with variance-reduced gradients."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, TypedDict, cast

from ...device import Device
from ...errors import ArgumentError, ParameterError, StateError
from ...executor.group.replicas import GroupDevices
from ...module import Module
from ...module.batches import AnyBatch, rewind
from ...module.descs import Shapes
from ...module.jobs import job_of
from ...module.parameters import copy_across
from ...module.settings import Binding, FitSettings, OptimizerSettings, RowIds
from ...module.steps import HeadGrads
from ...module.training_loop import TrainingLoop
from ...module.update_policy import UpdatePolicy
from ...ndarray import NDArray
from ...optimizer import Optimizer
from ...overriding import declares_steps, overrides
from ...protocols import ArrayDict, Batch, Logger, StateTree
from ...symbol import Symbol
from .full_gradients import add_each, meet_workers, sum_gradients, write_means, zeros_like
from .svrg_optimizer import _SVRGOptimizer, full_keys

__all__ = ["SVRGModule"]

# How often a snapshot is repeated with half of the loss scale: from 2**24, the largest, down to 2**-24.
_TRIES = 48


class SnapshotState(TypedDict):
    """What `SVRGModule.run_state` adds to that of `Module`."""

    snapshot: StateTree


class SVRGLoop(TrainingLoop):
    """A training loop that takes snapshots: in the first epoch of a run, and then every `update_freq` epochs."""

    module: SVRGModule

    def begin_epoch(self, epoch: int) -> None:
        """Take a snapshot before the epoch's batches, if it is due; a run that resumes within an epoch has one."""
        super().begin_epoch(epoch)
        if self.position.batch:
            return
        start_over = super().rewind
        if epoch == self.settings.begin_epoch or epoch % self.module.update_freq == 0:
            start_over()
            self.module.take_snapshot(self.settings.train_data, start_over)
        start_over()

    def rewind(self) -> None:
        """Do nothing at the end of an epoch: as in MXNet, `begin_epoch` resets the data."""


@declares_steps()
class SVRGModule(Module):
    """A `Module` that learns by stochastic variance-reduced gradients (SVRG).

    Every `update_freq` epochs it takes a snapshot: a copy w̃ of the weights w, and the mean gradient over all data at
    w̃, the full gradient μ. In each step the gradient g(w) of the batch is replaced by g(w) − g(w̃) + μ. Its mean is
    still that of g(w); its variance goes to zero with w − w̃, so that a constant learning rate converges, on a
    strongly convex problem geometrically. A step computes two gradients, and a snapshot as many as an epoch has.

    The second module `_mod_aux` holds w̃ and computes g(w̃). It is bound for training only, and in training both run:
    before the first snapshot, a `forward` in training mode is an error.

    Parameters
    ----------
    symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names, state_names, group2ctxs
        As in `Module`.
    compression_params
        As in `Module`.
    update_freq
        After how many epochs `fit` takes a new snapshot. It takes one in the first epoch of a run, whatever its number,
        and then in those with ``epoch % update_freq == 0``.

    Raises
    ------
    ArgumentError
        A TypeError, when `update_freq` is no integer.
    ParameterError
        A ValueError, when it is not positive.

    Examples
    --------
    >>> import numpy as np, rebind as mx
    >>> from rebind.contrib.svrg_optimization import SVRGModule
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    >>> net = mx.sym.LinearRegressionOutput(net, name="lro")
    >>> x = np.random.RandomState(0).rand(64, 3).astype("float32")
    >>> batches = mx.io.NDArrayIter(x, x.sum(axis=1, keepdims=True), 16, label_name="lro_label")
    >>> mod = SVRGModule(net, label_names=["lro_label"], update_freq=2)
    >>> history = mod.fit(batches, eval_metric="mse", num_epoch=20, optimizer_params={"learning_rate": 0.5})
    >>> history["train"]["mse"][-1] < 0.01
    True
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Logger = logging,
        context: Device | Sequence[Device] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: GroupDevices = None,
        compression_params: Mapping[str, object] | None = None,
        update_freq: int | None = None,
    ) -> None:
        self.update_freq = _checked_frequency(update_freq)
        super().__init__(
            symbol,
            data_names,
            label_names,
            logger,
            context,
            work_load_list,
            fixed_param_names,
            state_names,
            group2ctxs,
            compression_params,
        )
        arguments = set(symbol.list_arguments())
        # It shares no array with this module: w̃ must not change while w is trained.
        self._mod_aux = Module(
            symbol,
            self._network.data_names,
            [
                name for name in self._network.label_names if name in arguments
            ],  # `self` has warned of the others
            logger,
            self.parameters.devices,
            self._network.work_load_list,
            self.parameters.fixed,
            self._network.state_names,
            group2ctxs,
        )
        self._full_keys = full_keys(self.parameters.names)
        #: For each device, the full gradient by the parameter's name.
        self._param_dict: list[ArrayDict] | None = None
        self._both_ran = False  # in the last forward
        # Whether the rule is still to be applied to the gradients; None: it cannot be, one module alone computed them.
        self._raw: bool | None = False

    @classmethod
    def load(cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Return a module from the files that `save_checkpoint` wrote; it is not bound yet.

        Without `update_freq` among `kwargs` it is a plain `Module`, as always in MXNet.

        >>> import os, tempfile
        >>> import rebind as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     prefix = os.path.join(folder, "net")
        ...     mx.model.save_checkpoint(prefix, 1, 2 * mx.sym.var("data"), {}, {})
        ...     SVRGModule.load(prefix, 1, update_freq=2, label_names=None).update_freq
        2
        """
        # Without it the files are wanted as a plain Module, as in MXNet.
        if "update_freq" not in kwargs:
            return Module.load(prefix, epoch, load_optimizer_states, **kwargs)
        return super().load(prefix, epoch, load_optimizer_states, **kwargs)

    def bind_to(self, binding: Binding, *, force: bool = False, shared: Any = None) -> None:
        """Bind the module, for training also that of the snapshot; snapshots are not shared."""
        already = self.binded and not force
        super().bind_to(binding, force=force, shared=shared)
        if already:
            return
        self._both_ran = self._raw = False
        self._mod_aux.binded = False
        # Its shapes and its parameters are those of the old binding.
        if binding.for_training:
            self._bind_aux(binding)

    # The module of the snapshot has the inputs, shapes and states of this one.

    def reshape(self, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Change the shapes of inputs and labels, in both modules; parameters and optimizer stay."""
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def prepare(self, data_batch: AnyBatch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Prepare both modules for a batch; rows of sparse parameters are fetched for the trained one only."""
        super().prepare(data_batch, sparse_row_id_fn)
        self._mod_aux.prepare(data_batch)

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        """Set the states of both modules from arrays, or all to one number."""
        super().set_states(states, value)
        if self._mod_aux.binded:
            self._mod_aux.set_states(states, value)

    def _bind_aux(self, binding: Binding) -> None:
        """Bind the module of the snapshot, and make arrays for the full gradients that have none."""
        requests, parameters = self._network.executors("bind()").grad_req, self.parameters
        self._mod_aux.use_loss_scaler(self.loss_scaler, outputs=self._scales_outputs)
        # Never 'add': the rule needs g(w̃) of one batch. Gradients of inputs come from the trained module alone.
        grad_req = {
            name: "write" if request != "null" and name in parameters.names else "null"
            for name, request in requests.items()
        }
        self._mod_aux.bind_to(replace(binding, inputs_need_grad=False, grad_req=grad_req))
        # Full gradients survive when the module is bound again, which changes the shapes of data only.
        have = self._param_dict or [{} for _ in parameters.devices]
        self._param_dict = [
            {name: full[name] if name in full else zeros_like(grad) for name, grad in grads.items()}
            for full, grads in zip(have, self._mod_aux.gradients_by_device(), strict=True)
        ]

    def _make_policy(self, settings: OptimizerSettings) -> UpdatePolicy:
        """Give the store a key ``<name>_full`` for each full gradient, too; workers of a job add them up themselves."""
        policy = super()._make_policy(settings)
        if policy.store is not None and job_of([policy.store]) is None:
            for name, full in (self._param_dict or [{}])[0].items():
                policy.store.put(self._full_keys[name], full)
        return policy

    def _make_optimizer(
        self, settings: OptimizerSettings, rescale: float, names: Mapping[int, str]
    ) -> Optimizer:
        return _SVRGOptimizer(super()._make_optimizer(settings, rescale, names), self._full_keys.values())

    def training_loop(self, settings: FitSettings) -> TrainingLoop:
        """Return the loop of `fit`, which takes the snapshots."""
        return SVRGLoop(self, settings)

    def update_full_grads(self, train_data: Iterable[Batch]) -> None:
        """Take a snapshot of the weights, and compute the full gradient there.

        The full gradient is the sum over all batches, padding of the last one included, divided by
        ``batches − pad / batch_size``. With a store it goes through the keys ``<name>_full``. Each of k devices then
        holds the total over the devices divided by k, so that the sum of their gradients has it once. Over several
        workers, which all must call it, the total is that of all of them, and divided by the number of all devices.

        Parameters
        ----------
        train_data
            An iterator over batches; it is reset first, and is at its end afterwards.

        Examples
        --------
        >>> import numpy as np, rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
        >>> net = mx.sym.LinearRegressionOutput(net, name="lro")
        >>> batches = mx.io.NDArrayIter(np.array([1, 2]), np.array([3, 6]), label_name="lro_label")
        >>> mod = SVRGModule(net, label_names=["lro_label"], update_freq=1)
        >>> mod.bind(batches.provide_data, batches.provide_label)
        >>> mod.init_params(mx.init.Zero())
        >>> mod.init_optimizer(optimizer_params={"learning_rate": 0.1})
        >>> mod.update_full_grads(batches)  # what follows is one epoch by hand
        >>> batches.reset()
        >>> for batch in batches:
        ...     mod.forward_backward(batch)
        ...     mod.update()
        >>> round(mod.get_params()[0]["fc_weight"].item(), 3)  # on the way to 3
        1.2
        """
        rewind(train_data)
        self.take_snapshot(train_data, lambda: rewind(train_data))

    def take_snapshot(self, train_data: Iterable[Batch], start_over: Callable[[], None]) -> None:
        """Do the same as `update_full_grads`, without resetting the data first.

        With scaled losses (`contrib.amp`), a sum that overflows is computed again with half of the scale.

        Parameters
        ----------
        train_data
            An iterator over batches.
        start_over
            Resets the iterator.
        """
        if not self.for_training or not self._mod_aux.binded:
            raise StateError("SVRGModule.update_full_grads() needs bind(for_training=True) first")
        meet_workers(self)
        # The snapshot: w̃ becomes a copy of w.
        self._mod_aux.init_params(None, *self.get_params(), force_init=True)
        totals, divisor = sum_gradients(self._mod_aux, train_data)
        for _ in range(_TRIES):
            scaler = self.loss_scaler
            sums = [total for each in totals for total in each.values()]
            scale = 1.0 if scaler is None else scaler.loss_scale
            # A sum may overflow where no batch does. `has_overflow` halves the scale for the next attempt.
            if scaler is None or not scaler.has_overflow(sums, self.on_any_worker):
                break
            start_over()
            totals, divisor = sum_gradients(self._mod_aux, train_data)
        assert self._param_dict is not None  # made by bind(for_training=True)
        write_means(self._param_dict, totals, divisor, scale, self._full_keys, self.stores())

    def run_state(self) -> StateTree:
        """Return the state from which training resumes, the snapshot included."""
        # Of one device, since all have the same.
        fulls = None if self._param_dict is None else self._param_dict[0]
        return {**super().run_state(), "snapshot": self._mod_aux.arrays_state(), "full gradients": fulls}

    def load_run_state(self, state: StateTree) -> None:
        """Resume from what `run_state` returned, bound in the same way and with an optimizer of the same kind."""
        super().load_run_state(state)
        self._mod_aux.load_arrays_state(cast(SnapshotState, state)["snapshot"])
        saved = cast(ArrayDict, state["full gradients"])
        for fulls in self._param_dict or ():
            copy_across((saved[name] for name in fulls), fulls.values())

    def forward(self, data_batch: AnyBatch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch: in training mode with both weights, else with the trained ones alone.

        Parameters
        ----------
        data_batch
            As in `Module.forward`.
        is_train
            The mode; None means `for_training`.
        """
        both = self._needs_both(is_train)
        super().forward(data_batch, is_train)
        if both:
            self._mod_aux.forward(data_batch, is_train)
        self._both_ran = both

    def backward(self, out_grads: HeadGrads = None) -> None:
        """Compute the gradients for the last batch, as they are before the rule; see `update`.

        Where gradients are added up (``grad_req='add'``), the rule is applied here, to each batch.
        """
        super().backward(out_grads)
        if self._both_ran:
            self._mod_aux.backward(out_grads)
        self._after_backward()

    def forward_backward(self, data_batch: AnyBatch) -> None:
        """Compute outputs and gradients for a batch, with one module after the other.

        So only one of them holds activations for its backward, which halves the memory and is kinder to caches.
        """
        if overrides(self, "forward", "backward"):
            self.forward(data_batch, is_train=True)
            self.backward()
            return
        both = self._needs_both(True)
        super().forward(data_batch, is_train=True)
        super().backward()
        if both:
            self._mod_aux.forward_backward(data_batch)
        self._both_ran = both
        self._after_backward()

    def _needs_both(self, is_train: bool | None) -> bool:
        """Return whether a forward in this mode is one of both modules; it is an error without a snapshot."""
        both = self.for_training and (is_train is None or bool(is_train))
        if both and self.params_initialized and not self._mod_aux.params_initialized:
            raise StateError(
                "SVRGModule.forward(is_train=True) needs update_full_grads() first; fit() calls it. "
                "For outputs alone, give is_train=False."
            )
        return both

    def _on_gradient(self) -> None:
        # Nothing is sent during backward: the rule comes first.
        return None

    def _after_backward(self) -> None:
        if self._both_ran:
            # Sums of several batches: g(w̃) is of this batch only, and must be taken off now.
            self._update_svrg_gradients("add")
        self._raw = True if self._both_ran else None

    def update(self) -> None:
        """Update the parameters by the gradients of the last batch, which become g(w) − g(w̃) + μ."""
        self._need_policy("update()")
        self._finish_gradients()
        super().update()

    def apply_gradients(self) -> None:
        """Update the parameters by gradients from which the scale has been removed."""
        self._finish_gradients()
        super().apply_gradients()

    def scaled_gradients(self) -> list[Sequence[NDArray]]:
        """Return the gradients after the rule, which still contain the scale."""
        self._finish_gradients()
        return super().scaled_gradients()

    def _finish_gradients(self) -> None:
        """Apply the rule to the gradients of the last batch, unless it has been applied."""
        if self._raw is None:
            raise StateError(
                "SVRGModule.update() needs forward(is_train=True) before backward(); the gradients are those of one "
                "module alone"
            )
        if self._raw:
            self._update_svrg_gradients("write")
            self._raw = False

    def clear_gradients(self) -> None:
        """Set all gradients to zero, where they are added up (``grad_req='add'``)."""
        super().clear_gradients()
        self._raw = False

    def take_no_batch(self) -> None:
        """Set gradients as a batch without samples has them: g(w) and g(w̃) are zero, and μ stays."""
        super().take_no_batch()
        self._mod_aux.clear_gradients()
        self._both_ran = True
        self._after_backward()

    def _update_svrg_gradients(self, request: str) -> None:
        """Apply the rule on each device, to the gradients with this request."""
        requests = self._network.executors("update()").grad_req
        gradients = zip(
            self.gradients_by_device(),
            self._mod_aux.gradients_by_device(),
            self._param_dict or (),
            strict=True,
        )
        for current, snapshot, full in gradients:
            names = [name for name in full if requests[name] == request]
            if names:
                self._svrg_grads_update_rule(
                    *([each[name] for name in names] for each in (current, snapshot, full))
                )

    def _svrg_grads_update_rule(
        self,
        g_curr_batch_curr_weight: Sequence[NDArray] | NDArray,
        g_curr_batch_special_weight: Sequence[NDArray] | NDArray,
        g_special_weight_all_batch: Sequence[NDArray] | NDArray,
    ) -> Sequence[NDArray] | NDArray:
        """Replace g(w) by g(w) − g(w̃) + μ, on one device, and return it."""
        current, snapshot, full = map(
            _listed, (g_curr_batch_curr_weight, g_curr_batch_special_weight, g_special_weight_all_batch)
        )
        add_each(current, snapshot, -1.0)
        # The two gradients contain the scale of the losses; the full gradient does not.
        add_each(current, full, 1.0 if self.loss_scaler is None else self.loss_scaler.loss_scale)
        return g_curr_batch_curr_weight


def _checked_frequency(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise ArgumentError(
            f"SVRGModule: update_freq must be an integer, a number of epochs from snapshot to snapshot; got {given!r}"
        )
    if given < 1:
        raise ParameterError(f"SVRGModule: update_freq must be positive, a number of epochs; got {given}")
    return int(given)


def _listed(arrays: Sequence[NDArray] | NDArray) -> Sequence[NDArray]:
    return [arrays] if isinstance(arrays, NDArray) else arrays
