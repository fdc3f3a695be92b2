"""`DataParallelExecutorManager`: a group of executors for each bucket, which share parameters and memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence

from ...device import Device
from ...errors import ArgumentError, ParameterError, StateError
from ...executor.group.data_parallel import MonitorLike
from ...executor.group.split import mean, split_batch
from ...io import DataBatch, DataIter
from ...logs import resolve
from ...ndarray import NDArray
from ...protocols import Labels, Logger, Metric
from ...scope import NameManager
from ...symbol import Symbol
from .group import DataParallelExecutorGroup

__all__ = ["DataParallelExecutorManager"]


class DataParallelExecutorManager:
    """One network on several devices, each with its slice of a batch; the update is the caller's.

    Parameters
    ----------
    symbol
        The network.
    ctx
        The devices.
    train_data
        The iterator, whose shapes, types and `batch_size` the network is bound for; with `sym_gen` it must have a
        `default_bucket_key` too.
    arg_names, param_names, aux_names
        All arguments of the network, those that are parameters, and the auxiliary states.
    work_load_list
        The share of each device.
    logger
        Where messages go.
    sym_gen
        A function from a bucket's key to its network. A network is bound at its first batch, and stays bound;
        all share parameters, gradients, auxiliary states and the memory of inputs.

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
        symbol: Symbol,
        ctx: Sequence[Device],
        train_data: DataIter,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: Logger | None = None,
        sym_gen: Callable[[Hashable], Symbol] | None = None,
    ) -> None:
        self.logger = logging if logger is None else logger
        resolve(self.logger).info("Start training with %s", str(list(ctx)))
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
        # Empty without `sym_gen`: `execgrp` is then the only group.
        self.execgrp_bucket: dict[Hashable, DataParallelExecutorGroup] = {}
        self._default_key: Hashable = None
        if sym_gen is not None:
            self._default_key = train_data.default_bucket_key  # type: ignore[attr-defined]  # sym_gen asks for one
            self.execgrp_bucket[self._default_key] = self.execgrp
        self._monitors: list[MonitorLike] = []

    def _make_group(
        self,
        symbol: Symbol,
        arg_names: Sequence[str],
        data: DataIter | DataBatch,
        shared: DataParallelExecutorGroup | None,
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

    def install_monitor(self, monitor: MonitorLike) -> None:
        """Let a monitor watch all executors, and those of buckets that are bound later.

        >>> import numpy as np, rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
        >>> data = mx.io.NDArrayIter(np.ones((4, 5)), batch_size=4)
        >>> manager = DataParallelExecutorManager(
        ...     net, [mx.cpu(0), mx.cpu(1)], data, net.list_arguments(), ["fc_weight", "fc_bias"], []
        ... )
        >>> monitor = mx.mon.Monitor(1, pattern="fc_output")
        >>> manager.install_monitor(monitor)
        >>> manager.load_data_batch(next(data))
        >>> monitor.tic()
        >>> manager.forward()
        >>> [name for _, name, _ in monitor.toc()]
        ['fc_output', 'fc_output']
        """
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
        """Write the mean over the devices into the given arrays, in place and in their own types.

        >>> import numpy as np, rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
        >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
        >>> data = mx.io.NDArrayIter(np.ones((4, 5)), np.zeros(4), batch_size=4)
        >>> manager = DataParallelExecutorManager(
        ...     net, [mx.cpu(0), mx.cpu(1)], data, net.list_arguments(), ["fc_weight", "fc_bias"], []
        ... )
        >>> weights = {"fc_weight": mx.nd.ones((3, 5)), "fc_bias": mx.nd.ones((3,))}
        >>> manager.set_params(weights, {})
        >>> found = {name: mx.nd.zeros(array.shape) for name, array in weights.items()}
        >>> manager.copy_to(found, {})
        >>> found["fc_bias"].asnumpy()
        array([1., 1., 1.], dtype=float32)
        """
        params = dict(zip(self.param_names, self.param_arrays, strict=True))
        states = dict(zip(self.aux_names, self.aux_arrays, strict=True))
        missing = [name for name in params if name not in arg_params]
        missing += [name for name in states if name not in aux_params]
        if missing:
            raise ParameterError(
                "DataParallelExecutorManager.copy_to: there must be an array to write into for each parameter and "
                f"auxiliary state; missing are {', '.join(map(repr, missing))}"
            )
        for name, arrays in params.items():
            mean(arrays).copyto(arg_params[name])
        for name, arrays in states.items():
            mean(arrays).copyto(aux_params[name])

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """For each parameter the devices' arrays.

        >>> import numpy as np, rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
        >>> data = mx.io.NDArrayIter(np.ones((4, 5)), batch_size=4)
        >>> manager = DataParallelExecutorManager(
        ...     net, [mx.cpu(0), mx.cpu(1)], data, net.list_arguments(), ["fc_weight", "fc_bias"], []
        ... )
        >>> [[array.shape for array in arrays] for arrays in manager.param_arrays]
        [[(3, 5), (3, 5)], [(3,), (3,)]]
        """
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[list[NDArray | None]]:
        """For each parameter the devices' gradients."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """For each auxiliary state the devices' arrays."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: DataBatch) -> None:
        """Copy each device's slice of a batch to it; with `sym_gen`, switch to the batch's bucket."""
        group = self.execgrp
        if self.sym_gen is not None:
            key = getattr(data_batch, "bucket_key", None)
            key = self._default_key if key is None else key
            if key not in self.execgrp_bucket:
                self.execgrp_bucket[key] = self._make_bucket(key, data_batch)
            group = self.execgrp_bucket[key]
        if self.curr_execgrp is not None and self.curr_execgrp is not group:
            # Buckets share parameters and inputs, but each has its own memory for backward: that of one is enough.
            for exe in self.curr_execgrp.train_execs:
                exe.release()
        group.load_data_batch(data_batch)
        self.curr_execgrp = group

    def _make_bucket(self, key: Hashable, batch: DataBatch) -> DataParallelExecutorGroup:
        assert self.sym_gen is not None
        if not getattr(batch, "provide_data", None):
            raise ArgumentError(
                f"load_data_batch: the first batch of bucket {key!r} must have provide_data and provide_label, the "
                "names and shapes of its arrays"
            )
        with NameManager():  # automatic names start at 0 again, so that they are the same in all buckets
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

    def update_metric(
        self,
        metric: Metric,
        labels: Labels,
        pre_sliced: bool = False,
    ) -> None:
        """Add the batch that was loaded to a metric; with `pre_sliced`, `labels` is a list for each device.

        >>> import numpy as np, rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
        >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
        >>> data = mx.io.NDArrayIter(np.ones((4, 5)), np.zeros(4), batch_size=4)
        >>> manager = DataParallelExecutorManager(
        ...     net, [mx.cpu(0), mx.cpu(1)], data, net.list_arguments(), ["fc_weight", "fc_bias"], []
        ... )
        >>> batch, accuracy = next(data), mx.metric.create("acc")
        >>> manager.set_params({"fc_weight": mx.nd.ones((3, 5)), "fc_bias": mx.nd.array([1, 0, 0])}, {})
        >>> manager.load_data_batch(batch)
        >>> manager.forward()
        >>> manager.update_metric(accuracy, batch.label)
        >>> accuracy.get()
        ('accuracy', 1.0)
        """
        self._current("update_metric()").update_metric(metric, labels, pre_sliced)
