"""What programs look at in a module that is bound to a symbol: its names, its shapes, what it is made of."""

from __future__ import annotations

from ..errors import StateError
from ..executor import DataParallelExecutorGroup
from ..io import DataDesc
from ..symbol import Symbol
from .base_module import BaseModule
from .inputs import Inputs
from .old_names import INPUT_NAMES, MODULE_NAMES, with_old_names
from .parameters import Parameters
from .update_policy import UpdatePolicy

__all__ = ["Inspection"]


@with_old_names(MODULE_NAMES | INPUT_NAMES)
class Inspection(BaseModule):
    """A module as far as it is looked at; `BoundModule` sets the attributes, binds and computes.

    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.square(mx.sym.var("data"), name="sq"), label_names=None)
    >>> module
    <Module sq_output on cpu(0): not bound, 0 parameters, 0 auxiliary states>
    """

    _symbol: Symbol
    _inputs: Inputs
    _parameters: Parameters
    _output_names: list[str]
    _group: DataParallelExecutorGroup | None
    _policy: UpdatePolicy | None = None

    @property
    def parameters(self) -> Parameters:
        """The owner of the parameters.

        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
        >>> mx.mod.Module(net, label_names=None).parameters.names
        ['fc_weight', 'fc_bias']
        """
        return self._parameters

    @property
    def executors(self) -> DataParallelExecutorGroup | None:
        """The executors, one for each device; None before `bind`.

        >>> import rebind as mx
        >>> module = mx.mod.Module(2 * mx.sym.var("data"), label_names=None, context=[mx.cpu(0), mx.cpu(1)])
        >>> module.bind([("data", (4, 3))])
        >>> [exe.arg_dict["data"].shape for exe in module.executors.execs]
        [(2, 3), (2, 3)]
        """
        return self._group

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
        return self._policy

    @property
    def symbol(self) -> Symbol:
        return self._symbol

    @property
    def data_names(self) -> list[str]:
        return self._inputs.data_names

    @property
    def label_names(self) -> list[str]:
        """The names of the labels."""
        return self._inputs.label_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        return self._need_group("data_shapes").data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        return self._need_group("label_shapes").label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return self._need_group("output_shapes").get_output_shapes()

    def output_descs(self) -> list[DataDesc]:
        types = [output.dtype for output in self._need_group("outputs").execs[0].outputs]
        layouts = [self._symbol[name].attr("__layout__") or "NCHW" for name in self._output_names]
        return [
            DataDesc(name, shape, dtype, layout)
            for (name, shape), dtype, layout in zip(self.output_shapes, types, layouts, strict=True)
        ]

    def output_axes(self) -> list[int]:
        return self._need_group("output axes").output_layouts

    def parameter_names(self) -> list[str]:
        return [*self._parameters.names, *self._parameters.aux_names]

    def __repr__(self) -> str:
        shapes = "not bound" if self._group is None else f"bound to {self._group.data_shapes}"
        names, aux_names = self._parameters.names, self._parameters.aux_names
        devices = ", ".join(map(str, self._parameters.devices))
        return (
            f"<{type(self).__name__} {', '.join(self._output_names)} on {devices}: {shapes}, "
            f"{len(names)} parameters, {len(aux_names)} auxiliary states>"
        )

    def _need_group(self, who: str) -> DataParallelExecutorGroup:
        if self._group is None:
            raise StateError(f"Module.{who} needs bind() first")
        return self._group

    def _need_run(self, who: str) -> DataParallelExecutorGroup:
        group = self._need_group(who)
        if not group.has_run:
            raise StateError(f"Module.{who} needs forward() first")
        return group
