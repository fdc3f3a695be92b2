"""`OldNames`: private names of MXNet's modules that old programs use, as views of what there is now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..device import Device
from ..executor import DataParallelExecutorGroup, GradReqs
from ..io import DataDesc
from ..kvstore import KVStoreBase
from ..kvstore.base import UpdateFunction
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..protocols import ArrayDict
from .inputs import Inputs
from .parameters import Parameters
from .settings import Binding
from .update import LocalUpdate
from .update_policy import UpdatePolicy

__all__ = ["OldInputNames", "OldNames"]


class OldNames:
    """Names such as ``module._exec_group`` and ``module._arg_params``; nothing in rebind uses them.

    Old programs do, so they are public in fact, and stay. A subclass has the objects that they lead to.

    >>> import rebind as mx
    >>> mx.mod.Module(2 * mx.sym.var("data"), label_names=None, context=mx.cpu(1))._context
    [cpu(1)]
    """

    #: What the module is bound to.
    binding: Binding | None

    @property
    def parameters(self) -> Parameters:
        """The owner of the parameters.

        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
        >>> mx.mod.Module(net, label_names=None).parameters.names
        ['fc_weight', 'fc_bias']
        """
        raise NotImplementedError

    @property
    def executors(self) -> DataParallelExecutorGroup | None:
        """The executors, one for each device; None before `bind`.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None, context=[mx.cpu(0), mx.cpu(1)])
        >>> module.bind([("data", (4, 3))])
        >>> [exe.arg_dict["data"].shape for exe in module.executors.execs]
        [(2, 3), (2, 3)]
        """
        raise NotImplementedError

    @property
    def policy(self) -> UpdatePolicy | None:
        """What updates the parameters; None before `init_optimizer`.

        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1)
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))])
        >>> module.init_params()
        >>> module.init_optimizer(kvstore=None)
        >>> type(module.policy).__name__, module.policy.on_store
        ('LocalUpdate', False)
        """
        raise NotImplementedError

    @property
    def _exec_group(self) -> DataParallelExecutorGroup | None:
        return self.executors

    @property
    def _data_shapes(self) -> list[DataDesc] | None:
        return None if self.executors is None else self.executors.data_shapes

    @property
    def _label_shapes(self) -> list[DataDesc] | None:
        return None if self.executors is None else self.executors.label_shapes

    @property
    def _context(self) -> list[Device]:
        return self.parameters.devices

    @property
    def _param_names(self) -> list[str]:
        return self.parameters.names

    @property
    def _aux_names(self) -> list[str]:
        return self.parameters.aux_names

    @property
    def _fixed_param_names(self) -> list[str]:
        return self.parameters.fixed

    @property
    def _grad_req(self) -> GradReqs | None:
        return None if self.binding is None else self.binding.grad_req

    @property
    def _params_dirty(self) -> bool:
        """Whether `get_params` must fetch newer values first: never, it always reads the devices."""
        return False

    @_params_dirty.setter
    def _params_dirty(self, value: bool) -> None:
        """Do nothing: programs that change the devices' arrays announce it."""

    @property
    def _arg_params(self) -> ArrayDict | None:
        return self.parameters.copies()[0] if self.parameters.has_values else None

    # Programs that set these values set `params_initialized` themselves afterwards.

    @_arg_params.setter
    def _arg_params(self, value: Mapping[str, NDArray]) -> None:
        self.parameters.hold(arg_params=value, initialized=False)

    @property
    def _aux_params(self) -> ArrayDict | None:
        return self.parameters.copies()[1] if self.parameters.has_values else None

    @_aux_params.setter
    def _aux_params(self, value: Mapping[str, NDArray]) -> None:
        self.parameters.hold(aux_params=value, initialized=False)

    @property
    def _optimizer(self) -> Optimizer | None:
        return None if self.policy is None else self.policy.optimizer

    @property
    def _updater(self) -> UpdateFunction | None:
        return self.policy.function if isinstance(self.policy, LocalUpdate) else None

    @_updater.setter
    def _updater(self, value: UpdateFunction) -> None:
        # As in MXNet, without effect where the store updates.
        if isinstance(self.policy, LocalUpdate):
            self.policy.function = value

    @property
    def _kvstore(self) -> KVStoreBase | None:
        return None if self.policy is None else self.policy.store

    @property
    def _update_on_kvstore(self) -> bool:
        return self.policy is not None and self.policy.on_store


class OldInputNames(OldNames):
    """Those of a module of one network: the names of its inputs, which programs set for batches of other names.

    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("x") + mx.sym.var("y"), ["x", "y"], label_names=None)
    >>> module._data_names = ["x"]
    >>> module.data_names
    ['x']
    """

    _inputs: Inputs

    @property
    def _data_names(self) -> list[str]:
        return self._inputs.data_names

    @_data_names.setter
    def _data_names(self, value: Sequence[str]) -> None:
        self._inputs.data_names = list(value)

    @property
    def _label_names(self) -> list[str]:
        return self._inputs.label_names

    @_label_names.setter
    def _label_names(self, value: Sequence[str]) -> None:
        self._inputs.label_names = list(value)

    @property
    def _state_names(self) -> list[str]:
        return self._inputs.state_names

    @_state_names.setter
    def _state_names(self, value: Sequence[str]) -> None:
        self._inputs.state_names = list(value)
