"""`Module`: a symbol with parameters, on one device or several, that learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from .. import checkpoint
from ..absent import old_names
from ..checks import DICT, FLAG, PATH, an, check_kind, or_none, warn_user
from ..errors import ParameterError, StateError
from ..initializer import Uniform
from ..kvstore import choose_store
from ..logs import resolve
from ..ndarray import NDArray
from ..ndarray.storage import DenseStorage
from ..optimizer import Optimizer
from ..overriding import declares_steps
from ..protocols import ArrayDict, StateTree
from .bound_module import BoundModule
from .device_arrays import copy_across
from .jobs import writes_files
from .mistakes import described_values, explained_labels, warn_without_gradients
from .optimizer_setup import make_optimizer
from .parameters import ParametersState
from .settings import InitializerSpec, InitialValues, OptimizerParams, OptimizerSettings, StoreSpec
from .update import LocalUpdate, StoreUpdate
from .update_policy import UpdatePolicy
from .whole_steps import WholeSteps

__all__ = ["Module"]


class ModuleState(ParametersState):
    """What `Module.run_state` returns, besides what its `UpdatePolicy` adds."""

    states: Sequence[Sequence[NDArray]]
    gradients: Sequence[Sequence[NDArray | None]] | None


@declares_steps()
class Module(WholeSteps):
    """A network with its parameters and optimizer, on one device or several.

    It is composed of `Parameters`, which owns the values; the executors, which compute; and an `UpdatePolicy`,
    which owns the optimizer. `BoundModule` is its half that computes, this one learns.

    Parameters
    ----------
    symbol
        The network.
    data_names, label_names
        Which of its arguments are inputs and labels; None means none.
    logger
        Where messages go.
    context
        A device or a list of devices; each then computes its slice of a batch.
    work_load_list
        The share of each device.
    fixed_param_names
        Parameters that are not trained. A batch norm whose moving statistics are named too is frozen altogether:
        it normalizes with them in training as well, and they do not change.
    state_names
        Inputs whose values carry over from batch to batch.
    group2ctxs
        The device of each ``ctx_group``: a dict, or a list with a dict for each of `context`.
    compression_params
        How gradients are compressed between devices or workers: `KVStore.set_gradient_compression`.
    backend
        How the network is run: ``'inductor'`` compiles it, ``'openvino'`` for inference; see `Symbol.bind`.
    recompute
        Whether training takes less memory, and more time; see `Symbol.bind`.

    Examples
    --------
    >>> import numpy as np, rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    >>> net = mx.sym.LinearRegressionOutput(net, name="lro")
    >>> x = np.random.rand(64, 3).astype("float32")
    >>> batches = mx.io.NDArrayIter(x, x.sum(axis=1, keepdims=True), 16, label_name="lro_label")
    >>> mod = mx.mod.Module(net, label_names=["lro_label"])
    >>> history = mod.fit(batches, eval_metric="mse", num_epoch=20, optimizer_params={"learning_rate": 0.5})
    >>> history["train"]["mse"][-1] < 0.01
    True
    """

    _preload_opt_states: str | None = None  # a file for the first init_optimizer()
    _first_index = 0  # more than 0 where modules share an optimizer

    @property
    def optimizer_initialized(self) -> bool:
        """Whether there is an optimizer. Setting it to False drops the optimizer."""
        return self._policy is not None

    @optimizer_initialized.setter
    def optimizer_initialized(self, value: bool) -> None:
        if value and self._policy is None:
            raise StateError("Module.optimizer_initialized: only init_optimizer() can make it true")
        if not value:
            self._policy = None

    def _need_policy(self, who: str) -> UpdatePolicy:
        if self._policy is None:
            raise StateError(f"Module.{who} needs init_optimizer() first")
        return self._policy

    # Parameters.

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        """Return copies of parameters and auxiliary states, on the CPU; with several devices their mean.

        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
        >>> module = Module(net, label_names=None)
        >>> module.bind([("data", (2, 3))])
        >>> module.init_params(mx.init.One())
        >>> module.get_params()[0]["fc_weight"].asnumpy().tolist()
        [[1.0, 1.0, 1.0]]
        """
        if not self.params_initialized:
            raise StateError("Module.get_params() needs init_params() first")
        return self._parameters.copies()

    def trained_params(self) -> ArrayDict:
        self._need_group("trained_params()")
        return self._parameters.on_first_device()

    def unify_devices(self) -> None:
        self._parameters.unify_devices()

    def init_params(
        self,
        initializer: InitializerSpec = Uniform(0.01),  # noqa: B008  (MXNet's default; it has no state)
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states their first values.

        Parameters
        ----------
        initializer
            Fills what is not given (a name will do); a variable's own initializer (``var(init=...)``) takes precedence.
        arg_params, aux_params
            Values to copy. Names that the module does not have are ignored: a checkpoint of a larger network
            can be given as it is.
        allow_missing
            Let the initializer fill what `arg_params` and `aux_params` lack.
        force_init
            Set the values again; otherwise a second call changes nothing and warns.
        allow_extra
            Do not log names that the module does not have; they are ignored either way.

        Raises
        ------
        ParameterError
            When a value is missing, without `allow_missing`; the module then stays as it was.
        """
        check_kind("Module.init_params", or_none(DICT), arg_params=arg_params, aux_params=aux_params)
        flags = {"allow_missing": allow_missing, "force_init": force_init, "allow_extra": allow_extra}
        check_kind("Module.init_params", FLAG, **flags)
        values = InitialValues(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )
        if self.params_initialized and not force_init:
            _warn("init_params: the parameters have values already", "Set force_init=True to set them again.")
            return
        self._need_group("init_params()")
        with explained_labels(self._symbol, self._parameters.names, self._inputs.label_names):
            self._parameters.initialize(values, self._symbol.attr_dict())
        if line := described_values(self._parameters, values):
            resolve(self.logger).warning("Module.init_params: %s", line)
        self._start_policy()

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        check_kind("Module.set_params", or_none(DICT), arg_params=arg_params, aux_params=aux_params)
        flags = {"allow_missing": allow_missing, "force_init": force_init, "allow_extra": allow_extra}
        check_kind("Module.set_params", FLAG, **flags)
        if not allow_missing:  # as in MXNet: an init without initializer, for which every value must be there
            self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            _warn("set_params: the parameters have values already", "Leave out force_init=False to set them.")
            return
        self._need_group("set_params()")
        self._parameters.assign(arg_params, aux_params, allow_extra=allow_extra)
        self._start_policy()

    def _start_policy(self) -> None:
        """Let the policy start from the parameters as they are now."""
        if self._policy is not None:
            self._policy.start_from(self._parameters)  # a store that updates has weights of its own

    # The optimizer.

    def init_optimizer(
        self,
        kvstore: StoreSpec = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set up the optimizer and the store.

        Parameters
        ----------
        kvstore
            None, a name or a store. One device on one machine needs none.
        optimizer, optimizer_params
            A name and its settings, or an optimizer. `rescale_grad` is 1 / batch size unless it is given.
        force_init
            Start over; otherwise a second call changes nothing and warns.
        """
        if not self.binded or not self.params_initialized:
            raise StateError("Module.init_optimizer() needs bind() and init_params() first")
        check_kind("Module.init_optimizer", FLAG, force_init=force_init)
        if self._policy is not None and not force_init:
            _warn("init_optimizer: there is an optimizer already", "Set force_init=True to start over.")
            return
        policy = self._make_policy(OptimizerSettings(kvstore, optimizer, optimizer_params, force_init))
        policy.start_from(self._parameters)
        if self._preload_opt_states is not None:
            policy.load_states(self._preload_opt_states)
        self._preload_opt_states, self._policy = None, policy  # only now: nothing failed

    def _make_policy(self, settings: OptimizerSettings) -> UpdatePolicy:
        names, count = self._parameters.names, len(self._parameters.devices)
        first_arrays = {name: arrays[0] for name, arrays in self._parameters.by_device().items()}
        store, store_updates = choose_store(settings.kvstore, count, first_arrays)
        # MXNet's numbering, by which optimizers find multipliers, and .states files their states: a parameter has an
        # index on each device, unless the store updates, which knows it by its name.
        first, copies = (0, 1) if store_updates else (self._first_index, count)
        by_index = {first + i * copies + k: name for i, name in enumerate(names) for k in range(copies)}
        made = self._make_optimizer(settings, 1.0 / self._samples_per_update(store), by_index)
        if store is not None and self._compression_params:
            store.set_gradient_compression(dict(self._compression_params))
        if store is not None and store_updates:
            return StoreUpdate(made, names, store)
        return LocalUpdate(made, names, store, num_devices=count, first_index=self._first_index)

    def _make_optimizer(
        self, settings: OptimizerSettings, rescale: float, names: Mapping[int, str]
    ) -> Optimizer:
        return make_optimizer(settings, self._symbol, rescale, names, extend=self._first_index > 0)

    def optimizers(self) -> list[Optimizer]:
        return [self._need_policy("optimizers()").optimizer_in_use]  # a file may have replaced the first one

    def number_parameters(self, first_index: int) -> int:
        self._first_index = first_index
        return first_index + len(self._parameters.names) * len(self._parameters.devices)

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer of another module, and its states."""
        check_kind("Module.borrow_optimizer", an(Module), shared_module=shared_module)
        policy = shared_module.policy
        if policy is None:
            raise StateError("Module.borrow_optimizer: shared_module needs init_optimizer() first")
        if missing := [name for name in self._parameters.names if name not in policy.names]:
            raise ParameterError(
                "Module.borrow_optimizer: shared_module must have all parameters of this one; it lacks "
                f"{', '.join(map(repr, missing))}"
            )
        self._policy = policy

    def _share_optimizer(self, owner: BoundModule) -> None:
        if isinstance(owner, Module) and owner.optimizer_initialized:
            self.borrow_optimizer(owner)

    def update(self) -> None:
        """Update the parameters by the gradients of the last batch.

        With scaled losses (`contrib.amp.init_trainer`), a batch whose gradients overflow changes nothing.
        """
        self._need_policy("update()")
        if not self._has_gradients:
            warn_without_gradients(self._parameters.trained())
        if self.loss_scaler is None:
            self.apply_gradients()
        else:
            gradients, apply = self.scaled_gradients(), self.apply_gradients
            self.loss_scaler.update(self.optimizers(), gradients, apply, self.on_any_worker)

    def apply_gradients(self) -> None:
        policy = self._need_policy("update()")
        if trained := self._parameters.trained():
            policy.update(trained)

    def scaled_gradients(self) -> list[Sequence[NDArray]]:
        return [each.gradients for each in self._parameters.trained()]

    def gradients_by_device(self) -> list[ArrayDict]:
        """Return, for each device, the gradients of the parameters that have one.

        >>> import rebind as mx
        >>> module = Module(mx.sym.var("data") * mx.sym.var("w", shape=(1,)), label_names=None)
        >>> module.bind([("data", (1,))])
        >>> [list(of_device) for of_device in module.gradients_by_device()]
        [['w']]
        """
        trained = self._parameters.trained()
        return [
            {each.name: each.gradients[k] for each in trained} for k in range(len(self._parameters.devices))
        ]

    def clear_gradients(self) -> None:
        """Set all gradients to zero, before new ones are added (``grad_req='add'``)."""
        group = self._need_group("clear_gradients()")
        found = [*(group.grad_arrays or ()), *(group.input_grad_arrays or ())]
        gradients = [grad for grads in found for grad in grads if grad is not None]
        dense = [grad.tensor.detach() for grad in gradients if isinstance(grad.storage, DenseStorage)]
        if dense:
            torch._foreach_zero_(dense)  # one call for all: this is done for every update
        for grad in gradients:
            if not isinstance(grad.storage, DenseStorage):
                grad.write_unrecorded(grad.storage.zeros_like())

    # Files.

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all."""
        check_kind("Module.save_optimizer_states", PATH, fname=fname)
        self._need_policy("save_optimizer_states()").save_states(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file."""
        check_kind("Module.load_optimizer_states", PATH, fname=fname)
        self._need_policy("load_optimizer_states()").load_states(fname)

    def save_checkpoint(
        self, prefix: str, epoch: int, save_optimizer_states: bool = False, remove_amp_cast: bool = True
    ) -> None:
        """Write the symbol and the parameters, and the optimizer's states if asked; each file whole or not at all.

        Of several workers worker 0 writes; all may call it, and all must where the optimizer's states are asked for.

        >>> import os, tempfile, rebind as mx
        >>> module = Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), label_names=None)
        >>> module.bind([("data", (2, 3))])
        >>> module.init_params()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     module.save_checkpoint(f"{folder}/net", 10)
        ...     sorted(os.listdir(folder))
        ['net-0010.params', 'net-symbol.json']
        """
        if not self.params_initialized:
            raise StateError("Module.save_checkpoint() needs init_params() first")
        if save_optimizer_states:
            self._need_policy("save_checkpoint(save_optimizer_states=True)")
        if writes := writes_files(self.stores()):
            self._symbol.save(checkpoint.symbol_path(prefix), remove_amp_cast=remove_amp_cast)
            path = checkpoint.params_path(prefix, epoch)
            self.save_params(path)
            resolve(self.logger).info('Saved checkpoint to "%s"', path)
        if save_optimizer_states:
            path = checkpoint.states_path(prefix, epoch)
            self.save_optimizer_states(path)
            if writes:
                resolve(self.logger).info('Saved optimizer state to "%s"', path)

    @classmethod
    def load(cls, prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """Return a module from the files that `save_checkpoint` wrote; it is not bound yet.

        Parameters
        ----------
        prefix, epoch
            Name the files: ``prefix-symbol.json``, ``prefix-0010.params``.
        load_optimizer_states
            Read ``prefix-0010.states`` too, once, at the first `init_optimizer`.
        **kwargs
            For the constructor.

        Examples
        --------
        >>> import tempfile, rebind as mx
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mx.model.save_checkpoint(f"{folder}/net", 3, 2 * mx.sym.var("data"), {}, {})
        ...     module = Module.load(f"{folder}/net", 3, label_names=None)
        >>> module.data_names
        ['data']
        """
        symbol, arg_params, aux_params = checkpoint.load_checkpoint(prefix, epoch)
        module = cls(symbol, **kwargs)
        module.parameters.hold(arg_params, aux_params)
        if load_optimizer_states:
            module.preload_optimizer_states(checkpoint.states_path(prefix, epoch))
        return module

    def preload_optimizer_states(self, path: str) -> None:
        """Let the first `init_optimizer` read the optimizer's states from a file."""
        self._preload_opt_states = path

    # A run that is saved.

    def run_state(self) -> StateTree:
        policy = self._need_policy("run_state()")
        adds_up = self.batches_per_update > 1  # else each batch overwrites them
        return {
            **self.arrays_state(),
            "gradients": self._parameters.gradient_state() if adds_up else None,
            **policy.state_dict(),
            "loss scale": None if self.loss_scaler is None else self.loss_scaler.state_dict(),
        }

    def load_run_state(self, state: StateTree) -> None:
        policy = self._need_policy("load_run_state()")
        self.load_arrays_state(state)
        self._parameters.load_gradient_state(cast(ModuleState, state)["gradients"])
        policy.start_from(self._parameters)  # first: a store takes the loaded weights
        policy.load_state_dict(state)
        scale = cast("StateTree | None", state["loss scale"])
        if self.loss_scaler is not None and scale is not None:
            self.loss_scaler.load_state_dict(scale)

    def arrays_state(self) -> StateTree:
        """Return the arrays of all devices: parameters, auxiliary states, states."""
        group = self._need_group("arrays_state()")
        return {**self._parameters.state_dict(), "states": [list(arrays) for arrays in group.state_arrays]}

    def load_arrays_state(self, state: StateTree) -> None:
        """Load what `arrays_state` returned, bound in the same way; the parameters then have values."""
        group = self._need_group("load_arrays_state()")
        saved = cast(ModuleState, state)
        self._parameters.load_state_dict(saved)
        for targets, sources in zip(group.state_arrays, saved["states"], strict=True):
            if len(sources) != len(targets):
                raise StateError(
                    f"Module.load_run_state: states of {len(sources)} devices cannot be resumed on {len(targets)}; "
                    "bind to as many, or set_states()"
                )
            copy_across(sources, targets)


def _warn(what: str, remedy: str) -> None:
    warn_user(f"Module.{what}, so this call changes nothing. {remedy}")


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
