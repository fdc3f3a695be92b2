"""The group of `executor_manager`: one executor per device, from an iterator's descriptions."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ...device import Device
from ...errors import NameLookupError, near_names
from ...executor import Executor
from ...executor.group.outputs import update_metric
from ...executor.group.routing import Inputs
from ...executor.group.split import Split
from ...io import DataBatch, DataIter
from ...io.batch import as_descs
from ...ndarray import NDArray
from ...protocols import InputDesc, Labels, Logger, Metric
from ...symbol import Symbol
from .binding import _bind_exec, _check_arguments
from .loading import _load_general

__all__ = ["DataParallelExecutorGroup"]


class DataParallelExecutorGroup:
    """Executors of one network on several devices, which work on slices of each batch.

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
        The slice of a batch for each device.
    train_data
        An iterator or batch with `provide_data` and `provide_label`. Each array is split along the axis that its layout
        calls ``N``.
    shared_group
        A group whose parameters, and memory for inputs, are shared.

    Examples
    --------
    >>> import numpy as np, rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> group = DataParallelExecutorGroup(
    ...     net,
    ...     net.list_arguments(),
    ...     ["fc_weight", "fc_bias"],
    ...     [mx.cpu(0), mx.cpu(1)],
    ...     [slice(0, 1), slice(1, 4)],
    ...     mx.io.NDArrayIter(np.ones((4, 5), "float32"), batch_size=4),
    ... )
    >>> [exe.arg_dict["data"].shape for exe in group.train_execs]
    [(1, 5), (3, 5)]
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Device],
        slices: Sequence[slice],
        train_data: DataIter | DataBatch,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Logger = logging,
    ) -> None:
        _check_arguments(sym)
        data, labels = as_descs(train_data.provide_data or ()), as_descs(train_data.provide_label or ())
        for name in (desc.name for desc in (*data, *labels)):
            if name not in arg_names:
                raise NameLookupError(
                    f"DataParallelExecutorGroup: the network has no argument {name!r}{near_names(name, arg_names)}"
                )
        self.aux_names = sym.list_auxiliary_states()
        # In the order of the arguments, whatever that of `param_names`; `param_arrays` follows it.
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[i] for i in self.param_idx]
        self.slices = list(slices)
        # One dict for each device: all groups that share it use the same memory for inputs of the same name.
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            [{} for _ in ctx] if shared_group is None else shared_group.shared_data_arrays
        )
        split = Split(tuple(slices))
        self.train_execs: list[Executor] = [
            _bind_exec(
                sym,
                device,
                {desc.name: split.shape_of(desc, k) for desc in (*data, *labels)},
                self.param_names,
                need_grad=True,
                base_exec=None if shared_group is None else shared_group.train_execs[k],
                shared_data_arrays=self.shared_data_arrays[k],
                input_types={desc.name: desc.dtype for desc in (*data, *labels)},
                logger=logger,
            )
            for k, device in enumerate(ctx)
        ]
        self._collect_arrays(data, labels, split)

    def _collect_arrays(self, data: Sequence[InputDesc], labels: Sequence[InputDesc], split: Split) -> None:
        """Gather the executors' arrays by name, in the lists that programs for MXNet read."""
        args = [exe.arg_dict for exe in self.train_execs]
        self._data = Inputs.of("data", data, split, args)
        self._labels = Inputs.of("label", labels, split, args)
        self.data_names, self.data_layouts = self._data.names, self._data.axes
        self.label_names, self.label_layouts = self._labels.names, self._labels.axes
        self.data_arrays, self.label_arrays = self._data.pairs, self._labels.pairs
        self.param_arrays = [[arrays[name] for arrays in args] for name in self.param_names]
        self.grad_arrays = [[exe.grad_dict[name] for exe in self.train_execs] for name in self.param_names]
        aux = [exe.aux_dict for exe in self.train_execs]
        self.aux_arrays: list[list[NDArray]] = [
            [states[name] for states in aux]  # type: ignore[misc]  # a bound executor lacks none
            for name in self.aux_names
        ]

    def load_data_batch(self, data_batch: DataBatch) -> None:
        """Copy each device's slice of the data, and of the labels if there are any, to it."""
        sources, inputs = list(data_batch.data or ()), [self._data]
        if labels := getattr(data_batch, "label", None):
            sources += labels
            inputs.append(self._labels)
        _load_general(
            sources,
            [pairs for each in inputs for pairs in each.pairs],
            [axis for each in inputs for axis in each.axes],
            names=[name for each in inputs for name in each.names],
        )

    def forward(self, is_train: bool = False) -> None:
        """Run forward on all devices."""
        for exe in self.train_execs:
            exe.forward(is_train=is_train)

    def backward(self) -> None:
        """Run backward on all devices."""
        for exe in self.train_execs:
            exe.backward()

    def update_metric(
        self,
        metric: Metric,
        labels: Labels,
        pre_sliced: bool = False,
    ) -> None:
        """Add the last batch's outputs to a metric.

        `labels` are for the whole batch or, with `pre_sliced`, a list of such lists, one for each device.
        """
        update_metric(metric, self.train_execs, self._labels, labels, pre_sliced)
