"""`mx.executor_manager`: data parallelism step by step, as `Module` had it before it was written.

A `DataParallelExecutorManager` binds one network on several devices, each with its part of a batch, and leaves the
update to the caller, who reads `param_arrays` and `grad_arrays`. The names that begin with an underscore are here
because programs import them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from .device import Device
from .errors import ArgumentError, NameLookupError, ParameterError, ShapeError, StateError, near_names
from .executor import Executor
from .executor.split import batch_axis, mean, part_of, part_shape, split_batch
from .ndarray import NDArray, array
from .scope import NameManager

__all__ = [
    "DataParallelExecutorGroup",
    "DataParallelExecutorManager",
    "_bind_exec",
    "_check_arguments",
    "_load_data",
    "_load_general",
    "_load_label",
    "_split_input_slice",
]

_split_input_slice = split_batch


def _check_arguments(symbol: Any) -> None:
    """Check that no two arguments, and no two auxiliary states, have one name.

    Raises
    ------
    ParameterError
        Names what comes more than once.
    """
    for kind, names in (
        ("arguments", symbol.list_arguments()),
        ("auxiliary states", symbol.list_auxiliary_states()),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ParameterError(
                f"executor_manager: names of {kind} must differ; {', '.join(map(repr, twice))} stands more than once "
                f"among {names}. Give the layers names (name=...)."
            )


def _load_general(
    data: Sequence[Any],
    targets: Sequence[Any],
    major_axis: Sequence[int] | None = None,
    *,
    names: Sequence[str] | None = None,
) -> None:
    """Copy arrays to where they go, in the targets' types; nothing is copied before all of it fits.

    Parameters
    ----------
    data
        The arrays of a batch.
    targets
        For each of them an array, or a list of ``(slice, array)``: the rows that go to each device.
    major_axis
        For each of them the axis that is cut; -1: every device gets it whole. The first axis, when it is left out.
    names
        What to call them in errors.
    """
    names = [f"array {i}" for i in range(len(targets))] if names is None else list(map(repr, names))
    if len(data) != len(targets):
        raise ShapeError(
            f"load_data_batch: the batch must hold {len(targets)} arrays, {', '.join(names)}; got {len(data)}"
        )
    pieces: list[tuple[NDArray, Any, str]] = []
    axes = [0] * len(data) if major_axis is None else major_axis
    for source, target, axis, name in zip(data, targets, axes, names, strict=True):
        whole = source if isinstance(source, NDArray) else array(source, dtype=getattr(source, "dtype", None))
        if isinstance(target, NDArray):
            pieces.append((target, whole.tensor, name))
            continue
        rows = target[-1][0].stop
        if axis >= 0 and (whole.tensor.ndim <= axis or whole.shape[axis] != rows):
            raise ShapeError(
                f"load_data_batch: the batch size must be {rows}, as it was bound; {name} has shape {whole.shape}"
            )
        for part, each in target:
            cut = whole.tensor if axis < 0 else whole.tensor.narrow(axis, part.start, part.stop - part.start)
            pieces.append((each, cut, name))
    for target, piece, name in pieces:
        if tuple(piece.shape) != target.shape:
            raise ShapeError(
                f"load_data_batch: {name} must have shape {target.shape} on {target.device}; got {tuple(piece.shape)}"
            )
    for target, piece, _ in pieces:
        target.write(piece)


def _load_data(batch: Any, targets: Sequence[Any], major_axis: Sequence[int] | None = None) -> None:
    """Copy the data of a batch to where it goes; see `_load_general`."""
    _load_general(batch.data, targets, major_axis)


def _load_label(batch: Any, targets: Sequence[Any], major_axis: Sequence[int] | None = None) -> None:
    """Copy the labels of a batch to where they go; see `_load_general`."""
    _load_general(batch.label, targets, major_axis)


def _bind_exec(
    sym: Any,
    ctx: Device,
    input_shapes: Mapping[str, Sequence[int]],
    param_names: Sequence[str],
    need_grad: bool | set[str] = False,
    base_exec: Executor | None = None,
    shared_data_arrays: MutableMapping[str, NDArray] | None = None,
    input_types: Mapping[str, Any] | None = None,
    logger: Any = logging,
) -> Executor:
    """Return an executor, which may share its arrays with another one.

    Parameters
    ----------
    sym
        The network.
    ctx
        The device.
    input_shapes
        The shapes of the inputs, by name.
    param_names
        Which arguments are parameters.
    need_grad
        Which arguments get gradients: none (False), all but the inputs (True), or those in a set of names.
    base_exec
        An executor whose arrays of parameters, gradients and auxiliary states are used.
    shared_data_arrays
        Memory for inputs, by name. An input that needs as much or less uses what is there; one that needs more gets new
        memory, which is put there, and the logger warns of it.
    input_types
        The types of the inputs, by name.
    logger
        Where warnings go.

    Raises
    ------
    ShapeError
        When a parameter or auxiliary state of `base_exec` has another shape or type than this network needs.
    """
    arguments = sym.list_arguments()
    inputs = set(input_shapes)
    if isinstance(need_grad, (set, frozenset)):
        for name in need_grad:
            if name not in arguments:
                raise NameLookupError(
                    f"_bind_exec: need_grad: the symbol has no argument {name!r}{near_names(name, arguments)}"
                )
        wanted = set(need_grad)
    elif isinstance(need_grad, bool):
        wanted = set(arguments) - inputs if need_grad else set()
    else:
        raise ArgumentError(f"_bind_exec: need_grad must be True, False or a set of names; got {need_grad!r}")
    shared = [name for name in param_names if name in arguments]
    types = dict(input_types or {})
    if base_exec is not None:
        have = base_exec.arg_dict
        missing = [name for name in shared if name not in have]
        if missing:
            raise ParameterError(
                f"_bind_exec: base_exec must have all parameters; it lacks {', '.join(map(repr, missing))}"
            )
    before = dict(shared_data_arrays or {})
    executor = sym.simple_bind(
        ctx,
        grad_req={name: "write" if name in wanted else "null" for name in arguments},
        type_dict=types,
        shared_exec=base_exec,
        shared_arg_names=shared,
        shared_buffer=shared_data_arrays,
        **{name: tuple(shape) for name, shape in input_shapes.items()},
    )
    if base_exec is not None:
        _check_auxiliary(executor, base_exec)
    for name, old in before.items():
        assert shared_data_arrays is not None
        if shared_data_arrays[name] is not old:
            new = shared_data_arrays[name]
            logger.warning(
                'bucketing: the input "%s" has shape %s (%s), for which the memory bound for shape %s (%s) is not '
                "enough: it is bound anew. Let default_bucket_key be the bucket with the largest input to share its "
                "memory.",
                name,
                new.shape,
                new.dtype.__name__,
                old.shape,
                old.dtype.__name__,
            )
    return executor


def _check_auxiliary(executor: Executor, base: Executor) -> None:
    have = base.aux_dict
    for name, state in executor.aux_dict.items():
        other = have.get(name)
        if state is not other:
            assert state is not None
            got = "none" if other is None else f"{other.shape} {other.dtype.__name__}"
            raise ShapeError(
                f"_bind_exec: the auxiliary state {name!r} of base_exec must have shape and type "
                f"{state.shape} {state.dtype.__name__}; got {got}"
            )


class _Desc:
    """A description of an input: those of the iterator, or a pair of name and shape."""

    def __init__(self, desc: Any) -> None:
        self.name: str = desc[0]
        self.shape = tuple(desc[1])
        self.dtype = getattr(desc, "dtype", np.float32)
        self.layout = getattr(desc, "layout", None)


class DataParallelExecutorGroup:
    """Executors of one network on several devices, which work on parts of each batch.

    This is the group of `executor_manager`; that of `Module` is ``mx.module.executor_group``'s.

    Parameters
    ----------
    sym
        The network.
    arg_names
        All its arguments.
    param_names
        Which of them are parameters.
    ctx
        The devices.
    slices
        The part of a batch for each device.
    train_data
        An iterator or batch with `provide_data` and `provide_label`. Each array is cut along the axis that its layout
        calls ``N``.
    shared_group
        A group whose parameters, and memory for inputs, are used.
    """

    def __init__(
        self,
        sym: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Device],
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
    ) -> None:
        _check_arguments(sym)
        data = [_Desc(desc) for desc in train_data.provide_data]
        labels = [_Desc(desc) for desc in train_data.provide_label or ()]
        self.data_names = [desc.name for desc in data]
        self.label_names = [desc.name for desc in labels]
        for name in (*self.data_names, *self.label_names):
            if name not in arg_names:
                raise NameLookupError(
                    f"DataParallelExecutorGroup: the network has no argument {name!r}{near_names(name, arg_names)}"
                )
        self.aux_names: list[str] = sym.list_auxiliary_states()
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[i] for i in self.param_idx]
        self.slices = list(slices)
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            [{} for _ in ctx] if shared_group is None else shared_group.shared_data_arrays
        )
        self.train_execs: list[Executor] = [
            _bind_exec(
                sym,
                device,
                {desc.name: part_shape(desc, self.slices[k], len(ctx)) for desc in (*data, *labels)},
                self.param_names,
                need_grad=True,
                base_exec=None if shared_group is None else shared_group.train_execs[k],
                shared_data_arrays=self.shared_data_arrays[k],
                input_types={desc.name: desc.dtype for desc in (*data, *labels)},
                logger=logger,
            )
            for k, device in enumerate(ctx)
        ]
        args = [exe.arg_dict for exe in self.train_execs]
        self.data_layouts = [batch_axis(desc.layout) for desc in data]
        self.label_layouts = [batch_axis(desc.layout) for desc in labels]

        def targets(names: Sequence[str]) -> list[list[tuple[slice, NDArray]]]:
            return [list(zip(self.slices, (arrays[name] for arrays in args), strict=True)) for name in names]

        self.data_arrays, self.label_arrays = targets(self.data_names), targets(self.label_names)
        self.param_arrays = [[arrays[name] for arrays in args] for name in self.param_names]
        self.grad_arrays = [[exe.grad_dict[name] for exe in self.train_execs] for name in self.param_names]
        self.aux_arrays = [[exe.aux_dict[name] for exe in self.train_execs] for name in self.aux_names]

    def load_data_batch(self, data_batch: Any) -> None:
        """Copy each device's part of the data, and of the labels if there are any, to it."""
        sources, targets = list(data_batch.data), list(self.data_arrays)
        axes, names = list(self.data_layouts), list(self.data_names)
        if labels := getattr(data_batch, "label", None):
            sources += labels
            targets += self.label_arrays
            axes += self.label_layouts
            names += self.label_names
        _load_general(sources, targets, axes, names=names)

    def forward(self, is_train: bool = False) -> None:
        """Run forward on all devices."""
        for exe in self.train_execs:
            exe.forward(is_train=is_train)

    def backward(self) -> None:
        """Run backward on all devices."""
        for exe in self.train_execs:
            exe.backward()

    def update_metric(self, metric: Any, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Add the last batch's outputs to a metric.

        `labels` are for the whole batch or, with `pre_sliced`, a list of such lists, one for each device.
        """
        if pre_sliced and len(labels) != len(self.train_execs):
            raise ShapeError(
                f"update_metric: with pre_sliced, labels must hold a list for each of {len(self.train_execs)} devices; "
                f"got {len(labels)}"
            )
        axes = [*self.label_layouts, *[0] * (len(labels) - len(self.label_layouts))]
        names = self.label_names or [f"label{i}" for i in range(len(labels))]
        for k, exe in enumerate(self.train_execs):
            own = (
                list(labels[k])
                if pre_sliced
                else [
                    part_of(label, self.slices, k, axis, f"update_metric: label {i}")
                    for i, (label, axis) in enumerate(zip(labels, axes, strict=False))
                ]
            )
            metric.update_dict(dict(zip(names, own, strict=False)), exe.output_dict)


class DataParallelExecutorManager:
    """One network on several devices, each with its part of a batch; the update is the caller's.

    Parameters
    ----------
    symbol
        The network.
    ctx
        The devices.
    train_data
        The iterator: its shapes, types and `batch_size` say what is bound; with `sym_gen` its `default_bucket_key` too.
    arg_names, param_names, aux_names
        All arguments of the network, those that are parameters, and the auxiliary states.
    work_load_list
        The share of each device.
    logger
        Where messages go.
    sym_gen
        A function from a bucket's key to its network. A network is bound when its first batch comes, and kept; all
        share parameters, gradients, auxiliary states and the memory of inputs.

    Examples
    --------
    >>> import numpy as np, rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
    >>> data = mx.io.NDArrayIter(np.ones((8, 5), "float32"), np.zeros(8, "float32"), batch_size=4)
    >>> manager = mx.executor_manager.DataParallelExecutorManager(
    ...     net, [mx.cpu(0), mx.cpu(1)], data, net.list_arguments(), ["fc_weight", "fc_bias"], []
    ... )
    >>> manager.load_data_batch(next(data))
    >>> manager.forward(is_train=True)
    >>> manager.backward()
    >>> [grad.shape for grad in manager.grad_arrays[0]]
    [(3, 5), (3, 5)]
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Sequence[Device],
        train_data: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Callable[[Any], Any] | None = None,
    ) -> None:
        self.logger = logging if logger is None else logger
        self.logger.info("Start training with %s", str(list(ctx)))
        loads = [1.0] * len(ctx) if work_load_list is None else work_load_list
        if not isinstance(loads, (list, tuple)) or len(loads) != len(ctx):
            raise ParameterError(
                f"DataParallelExecutorManager: work_load_list must have a number for each of {list(ctx)}; "
                f"got {work_load_list!r}"
            )
        self.slices = split_batch(train_data.batch_size, loads)
        self.symbol = symbol
        self.ctx = list(ctx)
        self.arg_names = list(arg_names)
        self.param_names = list(param_names)
        self.aux_names = list(aux_names)
        self.sym_gen = sym_gen
        self.execgrp = self._make_group(symbol, self.arg_names, train_data, None)
        self.curr_execgrp: DataParallelExecutorGroup | None = None
        self.execgrp_bucket: dict[Any, DataParallelExecutorGroup] = {}
        self._default_key: Any = None
        if sym_gen is not None:
            self._default_key = train_data.default_bucket_key
            self.execgrp_bucket[self._default_key] = self.execgrp
        self._monitors: list[Any] = []

    def _make_group(
        self, symbol: Any, arg_names: Sequence[str], data: Any, shared: DataParallelExecutorGroup | None
    ) -> DataParallelExecutorGroup:
        return DataParallelExecutorGroup(
            symbol, arg_names, self.param_names, self.ctx, self.slices, data, shared, self.logger
        )

    def _groups(self) -> list[DataParallelExecutorGroup]:
        return list(self.execgrp_bucket.values()) or [self.execgrp]

    def _current(self, who: str) -> DataParallelExecutorGroup:
        if self.curr_execgrp is None:
            raise StateError(f"DataParallelExecutorManager.{who} needs load_data_batch() first")
        return self.curr_execgrp

    def install_monitor(self, monitor: Any) -> None:
        """Let a monitor watch all executors, those of buckets to come too."""
        self._monitors.append(monitor)
        for group in self._groups():
            for exe in group.train_execs:
                monitor.install(exe)

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copy parameters and auxiliary states to all devices; names that the network lacks are an error."""
        for exe in self.execgrp.train_execs:
            exe.copy_params_from(arg_params, aux_params)

    def copy_to(
        self, arg_params: MutableMapping[str, NDArray], aux_params: MutableMapping[str, NDArray]
    ) -> None:
        """Write the mean over the devices into the given arrays, in place and in their own types."""
        rows: list[tuple[str, list[Any], Mapping[str, NDArray]]] = [
            *(
                (name, arrays, arg_params)
                for name, arrays in zip(self.param_names, self.param_arrays, strict=True)
            ),
            *(
                (name, arrays, aux_params)
                for name, arrays in zip(self.aux_names, self.aux_arrays, strict=True)
            ),
        ]
        _check_all_there([name for name, _, given in rows if name not in given])
        for name, arrays, given in rows:
            mean(arrays).copyto(given[name])

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """For each parameter the devices' arrays."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[list[NDArray | None]]:
        """For each parameter the devices' gradients."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray | None]]:
        """For each auxiliary state the devices' arrays."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copy each device's part of a batch to it; with `sym_gen`, go over to the batch's bucket."""
        group = self.execgrp
        if self.sym_gen is not None:
            key = getattr(data_batch, "bucket_key", None)
            key = self._default_key if key is None else key
            if key not in self.execgrp_bucket:
                self.execgrp_bucket[key] = self._make_bucket(key, data_batch)
            group = self.execgrp_bucket[key]
        if self.curr_execgrp is not None and self.curr_execgrp is not group:
            for exe in self.curr_execgrp.train_execs:
                exe.release()
        group.load_data_batch(data_batch)
        self.curr_execgrp = group

    def _make_bucket(self, key: Any, batch: Any) -> DataParallelExecutorGroup:
        assert self.sym_gen is not None
        if not getattr(batch, "provide_data", None):
            raise ArgumentError(
                f"load_data_batch: the first batch of bucket {key!r} must have provide_data and provide_label, the "
                "names and shapes of its arrays"
            )
        with NameManager():  # automatic names start anew, so that they are the same in all buckets
            symbol = self.sym_gen(key)
        group = self._make_group(symbol, symbol.list_arguments(), batch, self.execgrp)
        for monitor in self._monitors:
            for exe in group.train_execs:
                monitor.install(exe)
        return group

    def forward(self, is_train: bool = False) -> None:
        """Run forward on the batch that was loaded, in inference mode unless `is_train`."""
        self._current("forward()").forward(is_train=is_train)

    def backward(self) -> None:
        """Run backward on the batch that was loaded."""
        self._current("backward()").backward()

    def update_metric(self, metric: Any, labels: Sequence[Any], pre_sliced: bool = False) -> None:
        """Add the batch that was loaded to a metric; with `pre_sliced`, `labels` is a list for each device."""
        self._current("update_metric()").update_metric(metric, labels, pre_sliced)


def _check_all_there(missing: Iterable[str]) -> None:
    missing = list(missing)
    if missing:
        raise ParameterError(
            "DataParallelExecutorManager.copy_to: there must be an array to write into for each parameter and "
            f"auxiliary state; missing are {', '.join(map(repr, missing))}"
        )
