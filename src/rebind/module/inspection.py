"""What programs look at in a module that is bound to a symbol: its names, its shapes, what it is made of."""

from __future__ import annotations

from ..errors import StateError
from ..executor import DataParallelExecutorGroup
from ..io import DataDesc
from ..symbol import Symbol
from .base_module import BaseModule
from .old_names import OldInputNames
from .parameters import Parameters

__all__ = ["Inspection"]


class Inspection(OldInputNames, BaseModule):
    """A module as far as it is looked at; `BoundModule` sets the attributes, binds and computes.

    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.square(mx.sym.var("data"), name="sq"), label_names=None)
    >>> module
    <Module sq_output on cpu(0): not bound, 0 parameters, 0 auxiliary states>
    """

    _symbol: Symbol
    _parameters: Parameters
    _output_names: list[str]
    _group: DataParallelExecutorGroup | None

    @property
    def parameters(self) -> Parameters:
        return self._parameters

    @property
    def executors(self) -> DataParallelExecutorGroup | None:
        return self._group

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
