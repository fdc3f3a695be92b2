"""`SVRGModule`: a module whose gradients have their variance reduced."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import torch

from ... import kvstore
from ... import optimizer as opt
from ...device import Device
from ...errors import ArgumentError, ParameterError, StateError
from ...module import Module
from ...module.base_module import _padding, _rewind
from ...ndarray import NDArray
from .svrg_optimizer import _SVRGOptimizer, full_keys

__all__ = ["SVRGModule"]


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
        symbol: Any,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Device | Sequence[Device] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
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
        self._mod_aux = Module(
            symbol,
            self._data_names,
            [name for name in self._label_names if name in arguments],  # of others `self` has warned
            logger,
            self._context,
            self._work_load_list,
            self._fixed_param_names,
            self._state_names,
            group2ctxs,
        )
        self._full_keys = full_keys(self._param_names)
        #: For each device, the full gradient by the parameter's name.
        self._param_dict: list[dict[str, NDArray]] | None = None
        self._both_ran = False  # in the last forward
        # Whether the gradients wait for the rule; None: they cannot have it, as one module alone computed them.
        self._raw: bool | None = False

    @classmethod
    def load(cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Return a module from the files that `save_checkpoint` wrote; it is not bound yet.

        Without `update_freq` among `kwargs` it is a plain `Module`, as always in MXNet.
        """
        if "update_freq" not in kwargs:
            return Module.load(prefix, epoch, load_optimizer_states, **kwargs)
        return super().load(prefix, epoch, load_optimizer_states, **kwargs)

    # ---- bind --------------------------------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: Any = "write",
        **kwargs: Any,
    ) -> None:
        """Fix the shapes and take memory, for training in both modules. See `Module.bind`; snapshots are not shared."""
        stays = self.binded and not force_rebind
        super().bind(
            data_shapes,
            label_shapes,
            for_training,
            inputs_need_grad,
            force_rebind,
            shared_module,
            grad_req,
            **kwargs,
        )
        if stays:
            return
        self._both_ran = self._raw = False
        self._mod_aux.binded = False
        if not for_training:
            return
        requests = self._need_group("bind()").grad_req
        self._mod_aux.bind(
            data_shapes,
            label_shapes,
            grad_req={
                name: "write" if request != "null" and name in self._param_names else "null"
                for name, request in requests.items()
            },
        )
        kept = self._param_dict or [{} for _ in self._context]
        self._param_dict = [
            {
                name: full[name] if name in full else NDArray(torch.zeros_like(grad._tensor), grad.device)
                for name, grad in grads.items()
            }
            for full, grads in zip(kept, _gradients(self._mod_aux), strict=True)
        ]

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Go over to other shapes of inputs and labels, in both modules; parameters and optimizer stay."""
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[[Any], Any] | None = None) -> None:
        """Get both modules ready for a batch; rows of sparse parameters are fetched for the trained one only."""
        super().prepare(data_batch, sparse_row_id_fn)
        self._mod_aux.prepare(data_batch)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Set the states of both modules from arrays, or all to one number."""
        super().set_states(states, value)
        if self._mod_aux.binded:
            self._mod_aux.set_states(states, value)

    # ---- optimizer ---------------------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set up the optimizer and the store, which also gets a key ``<name>_full`` for each full gradient."""
        stays = self.optimizer_initialized and not force_init
        super().init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        if self._kvstore is not None and not stays:
            for name, full in (self._param_dict or [{}])[0].items():
                self._kvstore.put(self._full_keys[name], full)

    def _make_optimizer(self, given: Any, params: Any, rescale: float, store_updates: bool) -> opt.Optimizer:
        made = super()._make_optimizer(given, params, rescale, store_updates)
        return _SVRGOptimizer(made, self._full_keys.values())

    # ---- the snapshot ------------------------------------------------------------------------------------

    def update_full_grads(self, train_data: Any) -> None:
        """Take a snapshot of the weights, and compute the full gradient there.

        The full gradient is the sum over all batches, filled rows of the last one included, divided by
        ``batches − pad / batch_size``. With a store it goes through the keys ``<name>_full``. Each of k devices then
        holds the total over the devices divided by k, so that the sum of their gradients has it once.

        Parameters
        ----------
        train_data
            An iterator over batches; it is reset first, and stands at its end afterwards.
        """
        _rewind(train_data)
        self._take_snapshot(train_data)

    def _take_snapshot(self, train_data: Any) -> None:
        if not self.for_training or not self._mod_aux.binded:
            raise StateError("SVRGModule.update_full_grads() needs bind(for_training=True) first")
        self._mod_aux.init_params(None, *self.get_params(), force_init=True)
        totals = [
            {name: torch.zeros_like(grad._tensor, dtype=_summed_in(grad)) for name, grad in grads.items()}
            for grads in _gradients(self._mod_aux)
        ]
        batches = pad = 0
        for batches, batch in enumerate(train_data, 1):  # noqa: B007
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            for sums, grads in zip(totals, _gradients(self._mod_aux), strict=True):
                if sums:
                    torch._foreach_add_(list(sums.values()), [grad._tensor for grad in grads.values()])
            pad = _padding(batch)
        if not batches:
            raise StateError(
                "SVRGModule.update_full_grads: train_data gave no batches; does its reset() begin anew?"
            )
        divisor = batches - pad / self._mod_aux._need_group("update_full_grads()").batch_size
        assert self._param_dict is not None
        for sums, fulls in zip(totals, self._param_dict, strict=True):
            for name, total in sums.items():
                fulls[name]._write(total / divisor)
        self._share_full_grads(self._param_dict)

    def _share_full_grads(self, fulls: Sequence[Mapping[str, NDArray]]) -> None:
        """Give each device its part of the total over all devices, through the store if there is one."""
        store = self._kvstore
        names = list(fulls[0])
        if not names or (store is None and len(fulls) == 1):
            return
        keys = [self._full_keys[name] for name in names]
        arrays = [[full[name] for full in fulls] for name in names]
        if store is None:
            store = kvstore.create("device")
            store.put(keys, [each[0] for each in arrays])
        store.push(keys, arrays)
        store.pull(keys, arrays)
        for full in fulls:
            torch._foreach_div_([each._tensor for each in full.values()], len(fulls) * store.num_workers)

    def _before_batches(self, epoch: int, first: bool, train_data: Any, rewind: Callable[[], None]) -> None:
        super()._before_batches(epoch, first, train_data, rewind)
        if first:
            rewind()
        if first or epoch % self.update_freq == 0:
            self._take_snapshot(train_data)
            rewind()

    def run_state(self) -> dict[str, Any]:
        """Return all that training needs to go on, the snapshot included."""
        fulls = None if self._param_dict is None else self._param_dict[0]
        return {**super().run_state(), "snapshot": self._mod_aux.arrays_state(), "full gradients": fulls}

    def load_run_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `run_state` returned; the module is bound alike and has an optimizer of the same kind."""
        super().load_run_state(state)
        self._mod_aux.load_arrays_state(state["snapshot"])
        for fulls in self._param_dict or ():
            for name, full in fulls.items():
                full._write(state["full gradients"][name]._tensor.to(full._tensor.device))

    # ---- the steps of a batch ----------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
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

    def backward(self, out_grads: Any = None) -> None:
        """Compute the gradients for the last batch, as they are before the rule; see `update`.

        Where gradients are added up (``grad_req='add'``), the rule is applied here, to each batch.
        """
        super().backward(out_grads)
        if self._both_ran:
            self._mod_aux.backward(out_grads)
        self._after_backward()

    def forward_backward(self, data_batch: Any) -> None:
        """Compute outputs and gradients for a batch, with one module after the other.

        So only one of them holds what its backward needs, which is half of the memory and easier on caches.
        """
        both = self._needs_both(True)
        super().forward(data_batch, is_train=True)
        super().backward()
        if both:
            self._mod_aux.forward_backward(data_batch)
        self._both_ran = both
        self._after_backward()

    def _needs_both(self, is_train: bool | None) -> bool:
        """Tell whether a forward in this mode is one of both modules; it is an error without a snapshot."""
        both = self.for_training and (is_train is None or bool(is_train))
        if both and self._has_params and not self._mod_aux.params_initialized:
            raise StateError(
                "SVRGModule.forward(is_train=True) needs update_full_grads() first; fit() calls it. "
                "For outputs alone, give is_train=False."
            )
        return both

    def _after_backward(self) -> None:
        if self._both_ran:
            self._update_svrg_gradients("add")
        self._raw = True if self._both_ran else None

    def update(self) -> None:
        """Move the parameters by the gradients of the last batch, which become g(w) − g(w̃) + μ."""
        self._need_optimizer("update()")
        if self._raw is None:
            raise StateError(
                "SVRGModule.update() needs forward(is_train=True) before backward(); the gradients are those of one "
                "module alone"
            )
        if self._raw:
            self._update_svrg_gradients("write")
            self._raw = False
        super().update()

    def clear_gradients(self) -> None:
        """Set all gradients to zero, where they are added up (``grad_req='add'``)."""
        super().clear_gradients()
        self._raw = False

    def _update_svrg_gradients(self, request: str) -> None:
        """Apply the rule on each device, to the gradients that were asked for in this way."""
        requests = self._need_group("update()").grad_req
        gradients = zip(_gradients(self), _gradients(self._mod_aux), self._param_dict or (), strict=True)
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
        """Put g(w) − g(w̃) + μ in the place of g(w), on one device, and return it."""
        current, snapshot, full = map(
            _tensors, (g_curr_batch_curr_weight, g_curr_batch_special_weight, g_special_weight_all_batch)
        )
        torch._foreach_sub_(current, snapshot)
        torch._foreach_add_(current, full)
        return g_curr_batch_curr_weight


def _checked_frequency(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise ArgumentError(
            f"SVRGModule: update_freq must be an integer, a number of epochs from snapshot to snapshot; got {given!r}"
        )
    if given < 1:
        raise ParameterError(f"SVRGModule: update_freq must be positive, a number of epochs; got {given}")
    return int(given)


def _gradients(module: Module) -> list[dict[str, NDArray]]:
    """Return, for each device, the gradients of the parameters that have one."""
    group = module._need_group("gradients")
    return [
        {
            name: grads[k]
            for name, grads in zip(group.param_names, group.grad_arrays or (), strict=True)
            if grads[k] is not None
        }
        for k in range(len(group.contexts))
    ]


def _tensors(arrays: Sequence[NDArray] | NDArray) -> list[torch.Tensor]:
    return [each._tensor.detach() for each in ([arrays] if isinstance(arrays, NDArray) else arrays)]


def _summed_in(grad: NDArray) -> torch.dtype:
    """Return the type that gradients of many batches are added up in."""
    return torch.promote_types(grad._tensor.dtype, torch.float32)
