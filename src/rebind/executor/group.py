"""`DataParallelExecutorGroup`: one executor per device, each with its part of the batch."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..device import Device
from ..errors import ArgumentError, ParameterError, ShapeError, StateError
from ..ndarray import NDArray
from ..shapes import Shape
from .arguments import read_grad_req
from .executor import Executor
from .split import Target, batch_axis, batch_size_of, join, mean, part_of, part_shape, split_batch

__all__ = ["DataParallelExecutorGroup"]

#: How many combinations of input shapes stay bound. One that comes again costs nothing then; each holds memory.
KEPT_SHAPES = 16


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
        self.group2ctxs = groups_per_device(group2ctxs, len(self.contexts))
        self.shared_group = shared_group
        self.grad_req = self._grad_requests(grad_req, [desc.name for desc in data_shapes])
        self.output_layouts = [batch_axis(symbol[name].attr("__layout__")) for name in symbol.list_outputs()]
        self.execs: list[Executor] = []
        self.slices: list[slice] = []
        self._kept: dict[Any, list[Executor]] = {}  # by shapes, the last used last
        self._monitors: list[Any] = []
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def _grad_requests(self, grad_req: Any, data_names: Sequence[str]) -> dict[str, str]:
        """Return what is asked for each argument: what the caller says of it, else what its kind asks for."""
        if not self.for_training:
            return dict.fromkeys(self.arg_names, "null")
        if isinstance(grad_req, (list, tuple)):
            return read_grad_req(grad_req, self.arg_names)
        if not isinstance(grad_req, (str, Mapping)):
            return read_grad_req(grad_req, self.arg_names)  # raises
        word = grad_req if isinstance(grad_req, str) else "write"
        said = grad_req if isinstance(grad_req, Mapping) else {}
        trained = {*self.param_names} - {*self.fixed_param_names}
        wanted = trained | ({*data_names} if self.inputs_need_grad else set())
        return read_grad_req(
            {name: said.get(name, word if name in wanted else "null") for name in self.arg_names},
            self.arg_names,
        )

    # ---- binding -----------------------------------------------------------------------------------------

    def bind_exec(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Find or make the executors for these shapes."""
        descs = [*data_shapes, *(label_shapes or ())]
        key = tuple((desc.name, tuple(desc.shape)) for desc in descs)
        slices = split_batch(batch_size_of(data_shapes), self.workload)
        execs = self._kept.pop(key, None) or [
            self._bind_one(k, slices, descs, shared_group) for k in range(len(slices))
        ]
        for exe in self.execs:
            if exe not in execs:
                exe.release()
        self._kept[key] = execs
        if len(self._kept) > KEPT_SHAPES:
            del self._kept[next(iter(self._kept))]
        self.slices = slices
        self.batch_size = slices[-1].stop
        self.execs = execs
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
        slices: Sequence[slice],
        descs: Sequence[Any],
        shared_group: DataParallelExecutorGroup | None,
    ) -> Executor:
        known = [desc for desc in descs if desc.name in self.arg_names]
        shapes = {desc.name: part_shape(desc, slices[k], len(slices)) for desc in known}
        types = {desc.name: desc.dtype for desc in known}
        # The same network in other shapes, or another group's parameters: what keeps its shape is shared.
        owner = self if self.execs else shared_group
        source = None if owner is None else owner.execs[k]
        shared: list[str] = []
        if owner is not None and source is not None:
            have = source.arg_dict
            shared = [name for name in self.param_names if name in have]
            if self.state_names and _rows(owner.slices[k]) == _rows(slices[k]):
                needed = dict(zip(self.arg_names, self.symbol.infer_shape(**shapes)[0], strict=True))
                shared += [
                    name for name in self.state_names if name in have and have[name].shape == needed[name]
                ]
            types.update({name: have[name].dtype for name in shared})
        exe = self.symbol.simple_bind(
            self.contexts[k],
            grad_req=self.grad_req,
            type_dict=types,
            group2ctx=self.group2ctxs[k],
            shared_exec=source,
            shared_arg_names=shared,
            **shapes,
        )
        for monitor in self._monitors:
            monitor.install(exe)
        return exe

    def _collect_arrays(self) -> None:
        """Gather the executors' arrays by name, in the lists that MXNet's programs reach for."""
        args = [exe.arg_dict for exe in self.execs]
        grads = [exe.grad_dict for exe in self.execs]
        aux = [exe.aux_dict for exe in self.execs]

        def targets(descs: Sequence[Any]) -> list[Target]:
            return [
                Target(
                    i, desc.name, batch_axis(desc.layout), self.slices, [arrays[desc.name] for arrays in args]
                )
                for i, desc in enumerate(descs)
                if desc.name in self.arg_names
            ]

        def pairs(targets: Sequence[Target]) -> list[list[tuple[slice, NDArray]]]:
            return [list(zip(target.parts, target.arrays, strict=True)) for target in targets]

        labels = self.label_shapes or ()
        self._data_targets, self._label_targets = targets(self.data_shapes), targets(labels)
        self.data_names = [desc.name for desc in self.data_shapes]
        self.data_layouts = [batch_axis(desc.layout) for desc in self.data_shapes]
        self.data_arrays = pairs(self._data_targets)
        self.label_names = [desc.name for desc in labels]
        self.label_layouts = [batch_axis(desc.layout) for desc in labels]
        self.label_arrays = pairs(self._label_targets) if self.label_shapes is not None else None
        self.param_arrays: list[list[NDArray]] = [
            [arrays[name] for arrays in args] for name in self.param_names
        ]
        self.grad_arrays: list[list[Any]] | None = (
            [[arrays[name] for arrays in grads] for name in self.param_names] if self.for_training else None
        )
        self.aux_arrays: list[list[Any]] = [[arrays[name] for arrays in aux] for name in self.aux_names]
        self.state_arrays: list[list[NDArray]] = [
            [arrays[name] for arrays in args] for name in self.state_names
        ]
        self.input_grad_arrays = (
            [[arrays[name] for arrays in grads] for name in self.data_names]
            if self.inputs_need_grad
            else None
        )

    # ---- parameters --------------------------------------------------------------------------------------

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_extra: bool = False,
    ) -> None:
        """Copy parameters to all devices."""
        for exe in self.execs:
            exe.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(self, arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
        """Write the mean over the devices into the dicts, as new arrays on the CPU."""
        for name, arrays in zip(self.param_names, self.param_arrays, strict=True):
            arg_params[name] = mean(arrays)
        for name, arrays in zip(self.aux_names, self.aux_arrays, strict=True):
            aux_params[name] = mean(arrays)

    def unify_auxiliary(self) -> None:
        """Give all devices the mean of their auxiliary states, which each moves by its own part of the batches."""
        if len(self.execs) == 1:
            return
        for arrays in self.aux_arrays:
            average = mean(arrays)
            for array in arrays:
                average.copyto(array)

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
        cut = isinstance(data_batch, (list, tuple)) and not hasattr(data_batch, "data")
        if cut and len(data_batch) != len(self.execs):
            raise ShapeError(
                f"forward: a list must hold a batch for each of {self.contexts}; got {len(data_batch)}"
            )
        pieces = []
        for k, batch in enumerate(data_batch if cut else [data_batch]):
            labels = getattr(batch, "label", None) or ()
            for kind, targets, sources in (
                ("data", self._data_targets, batch.data),
                ("label", self._label_targets if labels else [], labels),
            ):
                for target in targets:
                    pieces += (target.on(k) if cut else target).pieces(sources, kind)
        for array, piece in pieces:  # nothing is copied before all of it fits
            array.write(piece)
        training = self.for_training if is_train is None else bool(is_train)
        for exe in self.execs:
            exe.forward(training)

    def backward(self, out_grads: Any = None) -> None:
        """Run backward on all devices; `out_grads` are for the whole batch, in any form that `Executor` takes."""
        if not self.for_training:
            raise StateError("backward: the module must be bound with for_training=True")
        if out_grads is None or len(self.execs) == 1:
            for exe in self.execs:
                exe.backward(out_grads)
            return
        names = self.symbol.list_outputs()
        if isinstance(out_grads, Mapping):
            heads = dict(out_grads)
        else:
            given = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads)
            if len(given) != len(names):
                raise ShapeError(
                    f"backward: out_grads must hold {len(names)} arrays, for {names}; got {len(given)}"
                )
            heads = dict(zip(names, given, strict=True))
        axes = dict(zip(names, self.output_layouts, strict=True))
        for k, exe in enumerate(self.execs):
            exe.backward(
                {
                    name: part_of(
                        head, self.slices, k, axes.get(name, 0), f"backward: the gradient of {name!r}"
                    )
                    for name, head in heads.items()
                    if head is not None
                }
            )

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None) -> list:
        """Return the outputs: joined over the devices, or for each output the list of the devices' parts."""
        outputs = [[exe.outputs[i] for exe in self.execs] for i in range(len(self.output_layouts))][begin:end]
        return _merged(outputs, self.output_layouts[begin:end], merge_multi_context)

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
        return _merged(self.input_grad_arrays, self.data_layouts, merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list:
        """Return the states."""
        return _merged(self.state_arrays, [0] * len(self.state_arrays), merge_multi_context)

    def set_states(self, states: Sequence[Any] | None = None, value: float | None = None) -> None:
        """Set the states from arrays (whole, or for each a list of the devices' parts), or all to one number."""
        if (states is None) == (value is None):
            got = "neither" if states is None else "both"
            raise ParameterError(f"set_states: needs either states or value; got {got}")
        if states is None:
            assert value is not None
            for arrays in self.state_arrays:
                for array in arrays:
                    array[:] = value
            return
        if len(states) != len(self.state_names):
            raise ParameterError(
                f"set_states: states must hold an array for each of {self.state_names}; got {len(states)}"
            )
        pieces = []
        for i, (name, arrays, given) in enumerate(
            zip(self.state_names, self.state_arrays, states, strict=True)
        ):
            target = Target(i, name, 0, self.slices, arrays)
            if isinstance(given, (list, tuple)):
                pieces += [
                    target.on(k)._replace(position=k).pieces(given, "state")[0] for k in range(len(arrays))
                ]
            else:
                pieces += target.pieces(states, "state")
        for array, piece in pieces:
            array.write(piece)

    def update_metric(self, eval_metric: Any, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Add the last batch's outputs to a metric.

        `labels` are for the whole batch or, with `pre_sliced`, a list of such lists, one for each device.
        """
        for k, exe in enumerate(self.execs):
            if pre_sliced:
                own = list(labels[k])
            else:
                axes = [*self.label_layouts, *[0] * (len(labels) - len(self.label_layouts))]
                own = [
                    part_of(label, self.slices, k, axis, f"update_metric: label {i}")
                    for i, (label, axis) in enumerate(zip(labels, axes, strict=False))
                ]
            eval_metric.update_dict(self.labels_by_name(own), exe.output_dict)

    def labels_by_name(self, labels: Sequence[Any]) -> dict[str, Any]:
        """Return the labels of a batch by name; where none are bound, they have made-up names."""
        names = self.label_names or [f"label{i}" for i in range(len(labels))]
        return dict(zip(names, labels, strict=False))

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch every executor, and those that other shapes will need."""
        self._monitors.append(mon)
        for exe in (exe for execs in self._kept.values() for exe in execs):
            mon.install(exe)


def _rows(part: slice) -> int:
    return part.stop - part.start


def _merged(parts: Sequence[Sequence[Any]], axes: Sequence[int], merge: bool) -> list:
    if not merge:
        return [list(arrays) for arrays in parts]
    return [join(arrays, axis) for arrays, axis in zip(parts, axes, strict=True)]


def groups_per_device(group2ctxs: Any, devices: int) -> list[dict[str, Device]]:
    """Return the device of each ``ctx_group`` for each executor, from a dict or a list of dicts."""
    if group2ctxs is None:
        return [{} for _ in range(devices)]
    if isinstance(group2ctxs, Mapping):
        spread = {
            name: list(places) if isinstance(places, (list, tuple)) else [places]
            for name, places in group2ctxs.items()
        }
        spread = {name: places * devices if len(places) == 1 else places for name, places in spread.items()}
        for name, places in spread.items():
            if len(places) != devices:
                raise ParameterError(
                    f"group2ctxs: {name!r} must have a device for each of {devices}; got {places}"
                )
        return [_checked_places({name: places[k] for name, places in spread.items()}) for k in range(devices)]
    if not isinstance(group2ctxs, (list, tuple)):
        raise ArgumentError(
            f"group2ctxs: must be a dict from group to device or devices, or a list of dicts; got {group2ctxs!r}"
        )
    groups = list(group2ctxs)
    if len(groups) != devices:
        raise ParameterError(f"group2ctxs: must hold a dict for each of {devices} devices; got {len(groups)}")
    return [_checked_places(group or {}) for group in groups]


def _checked_places(places: Mapping[str, Any]) -> dict[str, Device]:
    for name, place in places.items():
        if not isinstance(place, Device):
            raise ArgumentError(f"group2ctxs: {name!r} must have a Device; got {place!r}")
    return dict(places)
