"""`DataParallelExecutorGroup`: one executor per device, each with its part of the batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..device import Device
from ..errors import ArgumentError, ParameterError, ShapeError, StateError
from ..ndarray import NDArray, array
from ..shapes import Shape
from .executor import GRAD_REQS, Executor
from .split import batch_axis, join, split_batch

__all__ = ["DataParallelExecutorGroup"]

Slices = list[tuple[slice, NDArray]]


class DataParallelExecutorGroup:
    """Executors of one symbol on several devices, which work on parts of each batch.

    Parameters
    ----------
    symbol
        The network.
    contexts
        The devices.
    workload
        The share of each device.
    data_shapes, label_shapes
        `DataDesc` records: name, shape, dtype, layout. `label_shapes` may be None.
    param_names
        Which arguments are parameters.
    for_training
        Whether gradients are computed.
    inputs_need_grad
        Whether the inputs get gradients too.
    shared_group
        A group whose arrays of parameters are used.
    logger
        Where messages go.
    fixed_param_names
        Parameters that get no gradient.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict over all arguments.
    state_names
        Inputs that keep their values between batches.
    group2ctxs
        For each ``ctx_group`` its device: a dict, or a list with a dict for each of `contexts`.
    """

    def __init__(
        self,
        symbol: Any,
        contexts: Sequence[Device],
        workload: Sequence[float] | None,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.workload = [1.0] * len(self.contexts) if workload is None else list(workload)
        self.param_names = list(param_names)
        self.arg_names: list[str] = symbol.list_arguments()
        self.aux_names: list[str] = symbol.list_auxiliary_states()
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.logger = logger
        self.fixed_param_names = list(fixed_param_names or ())
        self.state_names = list(state_names or ())
        self.group2ctxs = _groups_per_device(group2ctxs, len(self.contexts))
        self.shared_group = shared_group
        self.grad_req = self._grad_requests(grad_req, [desc.name for desc in data_shapes])
        self.output_layouts = [
            batch_axis(symbol[name].attr("__layout__")) for name in symbol.list_outputs()
        ]
        self.execs: list[Executor] = []
        self._kept: dict[Any, list[Executor]] = {}  # by shapes: a shape that comes again is not bound again
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def _grad_requests(self, grad_req: Any, data_names: Sequence[str]) -> dict[str, str]:
        requests: dict[str, str] = {}
        if isinstance(grad_req, (list, tuple)):
            if len(grad_req) != len(self.arg_names):
                raise ParameterError(
                    f"grad_req: a list must hold one word for each of {self.arg_names}; got {list(grad_req)}"
                )
            grad_req = dict(zip(self.arg_names, grad_req, strict=True))
        for name in self.arg_names:
            if not self.for_training:
                requests[name] = "null"
            elif isinstance(grad_req, Mapping) and name in grad_req:
                requests[name] = grad_req[name]
            elif name in self.param_names:
                word = "write" if isinstance(grad_req, Mapping) else grad_req
                requests[name] = "null" if name in self.fixed_param_names else word
            elif name in data_names:
                word = "write" if isinstance(grad_req, Mapping) else grad_req
                requests[name] = word if self.inputs_need_grad else "null"
            else:
                requests[name] = "null"
            if requests[name] not in GRAD_REQS:
                raise ParameterError(
                    f"grad_req: must be one of 'write', 'add', 'null'; got {requests[name]!r} for {name!r}"
                )
        return requests

    # ---- binding -----------------------------------------------------------------------------------------

    def bind_exec(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Make (or, with `reshape`, find or make) the executors for these shapes."""
        descs = [*data_shapes, *(label_shapes or ())]
        key = tuple((desc.name, tuple(desc.shape)) for desc in descs)
        slices = split_batch(_batch_size(data_shapes), self.workload)
        kept = self._kept.get(key)
        if kept is None:
            kept = [
                self._bind_one(k, part, descs, len(slices), shared_group) for k, part in enumerate(slices)
            ]
            self._kept[key] = kept
        self.slices = slices
        self.batch_size = _batch_size(data_shapes)
        self.execs = kept
        self.data_shapes = list(data_shapes)
        self.label_shapes = list(label_shapes) if label_shapes is not None else None
        self._collect_arrays()

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None) -> None:
        """Go over to other shapes; parameters, gradients and states of the network stay what they are."""
        if list(data_shapes) == self.data_shapes and label_shapes == self.label_shapes:
            return
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    def _bind_one(
        self,
        k: int,
        part: slice,
        descs: Sequence[Any],
        devices: int,
        shared_group: DataParallelExecutorGroup | None,
    ) -> Executor:
        shapes = {desc.name: _part_shape(desc, part, devices) for desc in descs if desc.name in self.arg_names}
        types = {desc.name: desc.dtype for desc in descs if desc.name in self.arg_names}
        if self.execs:  # the same network in other shapes: everything that keeps its shape is shared
            source: Executor | None = self.execs[k]
            types = {**types, **{n: self.execs[k].arg_dict[n].dtype for n in self.param_names}}
        else:
            source = shared_group.execs[k] if shared_group is not None else None
        shared_names = [*self.param_names, *self.state_names]
        return self.symbol.simple_bind(
            self.contexts[k],
            grad_req=self.grad_req,
            type_dict=types,
            group2ctx=self.group2ctxs[k],
            shared_exec=source,
            shared_arg_names=[n for n in shared_names if source is not None and n in source.arg_dict],
            **shapes,
        )

    def _collect_arrays(self) -> None:
        """Gather the executors' arrays by name, in the lists that MXNet's programs reach for."""

        def inputs(descs: Sequence[Any]) -> list[Slices]:
            return [
                [(part, exe.arg_dict[desc.name]) for part, exe in zip(self.slices, self.execs, strict=True)]
                for desc in descs
                if desc.name in self.arg_names
            ]

        self.data_names = [desc.name for desc in self.data_shapes]
        self.data_layouts = [batch_axis(desc.layout) for desc in self.data_shapes]
        self.data_arrays = inputs(self.data_shapes)
        self.label_names = [desc.name for desc in self.label_shapes or ()]
        self.label_layouts = [batch_axis(desc.layout) for desc in self.label_shapes or ()]
        self.label_arrays = inputs(self.label_shapes) if self.label_shapes is not None else None
        args = [exe.arg_dict for exe in self.execs]
        grads = [exe.grad_dict for exe in self.execs]
        aux = [exe.aux_dict for exe in self.execs]
        trained = [name for name in self.param_names if name in self.arg_names]
        self.param_arrays = [[arrays[name] for arrays in args] for name in trained]
        self.grad_arrays = [[arrays[name] for arrays in grads] for name in trained] if self.for_training else None
        self.aux_arrays = [[arrays[name] for arrays in aux] for name in self.aux_names]
        self.state_arrays = [[arrays[name] for arrays in args] for name in self.state_names]
        self.input_grad_arrays = (
            [[arrays[name] for arrays in grads] for name in self.data_names] if self.inputs_need_grad else None
        )
        self._data_targets = list(zip(self.data_names, self.data_arrays, self.data_layouts, strict=True))
        self._label_targets = [
            (name, targets, axis)
            for name, targets, axis in zip(
                [n for n in self.label_names if n in self.arg_names],
                self.label_arrays or (),
                self.label_layouts,
                strict=False,
            )
        ]

    # ---- parameters --------------------------------------------------------------------------------------

    def set_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray] | None, allow_extra: bool = False
    ) -> None:
        """Copy parameters to all devices."""
        for exe in self.execs:
            exe.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
        """Write the mean over the devices into the dicts, as new arrays on the CPU."""
        for name, arrays in zip(self.param_names, self.param_arrays, strict=True):
            arg_params[name] = _mean(arrays)
        for name, arrays in zip(self.aux_names, self.aux_arrays, strict=True):
            aux_params[name] = _mean(arrays)

    # ---- running -----------------------------------------------------------------------------------------

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Copy each device's part of the batch to it and run forward.

        Parameters
        ----------
        data_batch
            With the lists `data` and `label`; or a list of such batches, already cut, one for each device.
        is_train
            The mode; None means `for_training`.
        """
        training = self.for_training if is_train is None else bool(is_train)
        if isinstance(data_batch, (list, tuple)) and not hasattr(data_batch, "data"):
            self._load_cut(data_batch)
        else:
            _load(self._data_targets, data_batch.data, "data")
            labels = getattr(data_batch, "label", None)
            if self._label_targets and labels:
                _load(self._label_targets, labels, "label")
        for exe in self.execs:
            exe.forward(training)

    def _load_cut(self, batches: Sequence[Any]) -> None:
        if len(batches) != len(self.execs):
            raise ShapeError(f"forward: a list must hold a batch for each of {self.contexts}; got {len(batches)}")
        for k, batch in enumerate(batches):
            _load([(name, [(slice(None), a[k][1])], axis) for name, a, axis in self._data_targets], batch.data, "data")
            labels = getattr(batch, "label", None)
            if self._label_targets and labels:
                _load(
                    [(name, [(slice(None), a[k][1])], axis) for name, a, axis in self._label_targets], labels, "label"
                )

    def backward(self, out_grads: Any = None) -> None:
        """Run backward on all devices; `out_grads` are for the whole batch."""
        if not self.for_training:
            raise StateError("backward: the module must be bound with for_training=True")
        if out_grads is None:
            for exe in self.execs:
                exe.backward()
            return
        heads = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads)
        for part, exe in zip(self.slices, self.execs, strict=True):
            exe.backward(
                [
                    None if head is None else _part(head, part, axis, len(self.execs)).as_in_context(exe._device)
                    for head, axis in zip(heads, self.output_layouts, strict=True)
                ]
            )

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> list:
        """Return the outputs: joined over the devices, or for each output the list of the devices' parts."""
        outputs = [[exe.outputs[i] for exe in self.execs] for i in range(len(self.output_layouts))][begin:end]
        return self._merged(outputs, self.output_layouts[begin:end], merge_multi_context)

    def get_output_shapes(self) -> list[tuple[str, Shape]]:
        """Return names and shapes of the outputs for the whole batch."""
        shapes = []
        for i, (name, axis) in enumerate(zip(self.symbol.list_outputs(), self.output_layouts, strict=True)):
            shape = list(self.execs[0].outputs[i].shape)
            if axis >= 0 and shape:
                shape[axis] = sum(exe.outputs[i].shape[axis] for exe in self.execs)
            shapes.append((name, tuple(shape)))
        return shapes

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """Return the gradients of the inputs."""
        if self.input_grad_arrays is None:
            raise StateError("get_input_grads: the module must be bound with inputs_need_grad=True")
        return self._merged(self.input_grad_arrays, self.data_layouts, merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list:
        """Return the states."""
        return self._merged(self.state_arrays, [0] * len(self.state_arrays), merge_multi_context)

    def set_states(self, states: Sequence[Any] | None = None, value: float | None = None) -> None:
        """Set the states from arrays (whole, or a list for the devices), or all to one number."""
        if (states is None) == (value is None):
            raise ArgumentError("set_states: needs either states or value; got both" if value is not None else
                                "set_states: needs either states or value; got neither")  # fmt: skip
        if states is None:
            for arrays in self.state_arrays:
                for target in arrays:
                    target[:] = value
            return
        for arrays, given in zip(self.state_arrays, states, strict=True):
            if isinstance(given, NDArray):
                _load([("state", list(zip(self.slices, arrays, strict=True)), 0)], [given], "state")
                continue
            for target, source in zip(arrays, given, strict=True):
                target[:] = source

    @staticmethod
    def _merged(parts: Sequence[Sequence[NDArray]], axes: Sequence[int], merge: bool) -> list:
        if not merge:
            return [list(arrays) for arrays in parts]
        return [join(arrays, axis) for arrays, axis in zip(parts, axes, strict=True)]

    def update_metric(self, eval_metric: Any, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Add the last batch's outputs to a metric.

        `labels` are for the whole batch or, with `pre_sliced`, a list of such lists, one for each device.
        """
        for k, (exe, part) in enumerate(zip(self.execs, self.slices, strict=True)):
            if pre_sliced:
                own = list(labels[k])
            else:
                axes = [*self.label_layouts, *[0] * (len(labels) - len(self.label_layouts))]
                own = [_part(label, part, axis, len(self.execs)) for label, axis in zip(labels, axes, strict=False)]
            names = self.label_names or [f"label{i}" for i in range(len(own))]
            eval_metric.update_dict(dict(zip(names, own, strict=False)), exe.output_dict)

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch every executor."""
        for exe in self.execs:
            mon.install(exe)


def _groups_per_device(group2ctxs: Any, devices: int) -> list[dict[str, Device]]:
    """Return the device of each ``ctx_group`` for each executor, from a dict or a list of dicts."""
    if group2ctxs is None:
        return [{} for _ in range(devices)]
    if isinstance(group2ctxs, Mapping):
        spread = {
            name: list(places) if isinstance(places, (list, tuple)) else [places] * devices
            for name, places in group2ctxs.items()
        }
        for name, places in spread.items():
            if len(places) != devices:
                raise ParameterError(f"group2ctxs: {name!r} must have a device for each of {devices}; got {places}")
        return [{name: places[k] for name, places in spread.items()} for k in range(devices)]
    groups = list(group2ctxs)
    if len(groups) != devices:
        raise ParameterError(f"group2ctxs: must hold a dict for each of {devices} devices; got {len(groups)}")
    return [dict(group or {}) for group in groups]


def _batch_size(data_shapes: Sequence[Any]) -> int:
    sizes = {}
    for desc in data_shapes:
        axis = batch_axis(desc.layout)
        if axis >= 0 and len(desc.shape) > axis:
            sizes[desc.name] = desc.shape[axis]
    if not sizes:
        raise ShapeError(f"bind: one of the inputs must have a batch axis; got {list(data_shapes)}")
    if len(set(sizes.values())) > 1:
        raise ShapeError(f"bind: all inputs must have one batch size; got {sizes}")
    return next(iter(sizes.values()))


def _part_shape(desc: Any, part: slice, devices: int) -> Shape:
    shape = list(desc.shape)
    axis = batch_axis(desc.layout)
    if devices > 1 and axis >= 0 and shape:
        shape[axis] = part.stop - part.start
    return tuple(shape)


def _part(value: Any, part: slice, axis: int, devices: int) -> Any:
    """Return one device's part of an array, without a copy."""
    if devices == 1 or axis < 0:
        return value
    if not isinstance(value, NDArray):
        value = array(value)
    return NDArray(value.tensor.narrow(axis, part.start, part.stop - part.start), value.device)


def _load(targets: Sequence[tuple[str, Slices, int]], sources: Sequence[Any], kind: str) -> None:
    """Copy arrays for a whole batch into the devices' arrays, converting types."""
    if len(sources) < len(targets):
        names = [name for name, _, _ in targets]
        raise ShapeError(f"forward: the batch must hold {kind} for {names}; got {len(sources)} arrays")
    for (name, parts, axis), source in zip(targets, sources, strict=False):
        tensor = source._tensor if isinstance(source, NDArray) else torch.as_tensor(np.asarray(source))
        for part, target in parts:
            piece = tensor
            if len(parts) > 1 and axis >= 0:
                piece = tensor.narrow(axis, part.start, part.stop - part.start)
            if piece.shape != target._tensor.shape:
                raise ShapeError(
                    f"forward: {kind} {name!r} must have shape {target.shape} on {target.device}; "
                    f"got {tuple(piece.shape)}"
                )
            target._write(piece)


def _mean(arrays: Sequence[NDArray]) -> NDArray:
    """Return the mean over the devices, as a new array on the CPU of the arrays' own type."""
    first = arrays[0]._tensor.detach()
    if len(arrays) == 1:
        return NDArray(first.to("cpu", copy=True))
    total = first.to("cpu", torch.float64)
    for other in arrays[1:]:
        total = total + other._tensor.detach().to("cpu", torch.float64)
    return NDArray((total / len(arrays)).to(first.dtype))
