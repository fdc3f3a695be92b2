"""A callback that writes a training run for TensorBoard."""

from __future__ import annotations

import os
from typing import Any

from ..checks import check_new_folder, refuses_unknown
from ..extras import imported
from ..graph import Graph
from ..protocols import StateTree
from .hooks import Callback, EpochRecord
from .records import BatchEndParam, TrainedModule, check_positive
from .shared import run_of, shared_run

__all__ = ["TensorBoard", "summary_writer"]


def summary_writer(folder: str, who: str, **settings: object) -> Any:
    """Return PyTorch's writer of TensorBoard's files (extra ``tensorboard``)."""
    check_new_folder(folder, who)
    return imported("torch.utils.tensorboard", "tensorboard", who, package="tensorboard").SummaryWriter(
        folder, **settings
    )


class TensorBoard(Callback):
    """Writes curves, histograms and the network for TensorBoard, in ``fit(..., callbacks=[...])``.

    At each epoch: the figures of training and validation (``accuracy/train``, ``accuracy/validation``), the learning
    rate of each optimizer, the seconds, and histograms of the weights that are trained and of the last batch's
    gradients. In the folder's ``batches``, a run of its own: the training metric so far, at every `frequent` batches.
    The network is written once. It needs the extra ``tensorboard``.

    Over several workers with one folder the first of them writes, what all have measured. A run that resumes from a
    checkpoint continues where that was saved.

    Parameters
    ----------
    folder
        Where the files go; it is made. Look at them by ``tensorboard --logdir folder``.
    frequent
        Batches from one point of the curves within epochs to the next; None for no such curves.
    histograms
        Whether weights and gradients are written; they are copied for it.
    graph
        Whether the network is written.

    Examples
    --------
    >>> import tempfile
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), 4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     history = module.fit(data, num_epoch=2, callbacks=[mx.callback.TensorBoard(folder)])
    ...     print(len(os.listdir(folder)))  # a file of events, one of the network, and the folder of batches
    3
    """

    @refuses_unknown
    def __init__(
        self,
        folder: str | os.PathLike[str],
        frequent: int | None = 50,
        histograms: bool = True,
        graph: bool = True,
    ) -> None:
        check_new_folder(folder, "TensorBoard")
        self.folder, self.histograms, self.graph = os.fspath(folder), histograms, graph
        if frequent is not None:
            check_positive(frequent, "TensorBoard: frequent")
            #: After how many batches it shows figures; by this, workers know when to add theirs up.
            self.frequent = frequent
        self._frequent = frequent
        self._epochs = self._batches = 0  # that were written
        self._writers: dict[str, Any] = {}

    @property
    def writes_to(self) -> str:
        """Where its files go."""
        return self.folder

    def on_train_begin(self, module: TrainedModule) -> None:
        """Open the files; events after the checkpoint from which a run resumes do not count."""
        if not shared_run(module).writes(self.folder):
            return
        self._open("", self._epochs)
        if self._frequent is not None:
            self._open("batches", self._batches)
        if self.graph and not self._epochs and module.symbol is not None:
            _write_graph(self.folder, module.symbol.graph)

    def _open(self, name: str, step: int) -> None:
        folder = os.path.join(self.folder, name) if name else self.folder
        self._writers[name] = summary_writer(folder, "TensorBoard", purge_step=step or None)

    def on_batch_end(self, param: BatchEndParam) -> None:
        """Write the training metric."""
        self._batches += 1
        if self._frequent is None or param.nbatch % self._frequent or param.eval_metric is None:
            return
        figures = run_of(param).figures(self, param.eval_metric)
        if writer := self._writers.get("batches"):
            for name, value in figures:
                writer.add_scalar(f"{name}/train", value, self._batches)

    def on_epoch_end(self, record: EpochRecord) -> None:
        """Write the figures of the epoch, and histograms."""
        self._epochs = record.epoch + 1
        writer = self._writers.get("")
        if writer is None:
            return
        for split, figures in (("train", record.train), ("validation", record.validation)):
            for name, value in figures.items():
                writer.add_scalar(f"{name}/{split}", value, record.epoch)
        for k, optimizer in enumerate(record.module.optimizers()):
            writer.add_scalar(f"learning_rate{f'/{k}' if k else ''}", optimizer.learning_rate, record.epoch)
        writer.add_scalar("seconds", record.seconds, record.epoch)
        if self.histograms:
            for kind, arrays in (
                ("weights", record.module.trained_params()),
                ("gradients", record.module.trained_gradients()),
            ):
                for name, array in arrays.items():
                    writer.add_histogram(f"{kind}/{name}", array.astype("float32").asnumpy(), record.epoch)
        for each in self._writers.values():
            each.flush()

    def on_train_end(self, module: TrainedModule) -> None:
        """Close the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def state_dict(self) -> StateTree:
        """Return how much is written, for `load_state_dict`.

        >>> TensorBoard("runs").state_dict()
        {'epochs': 0, 'batches': 0}
        """
        return {"epochs": self._epochs, "batches": self._batches}

    def load_state_dict(self, state: StateTree) -> None:
        """Continue from what `state_dict` returned."""
        self._epochs, self._batches = int(str(state["epochs"])), int(str(state["batches"]))


def _write_graph(folder: str, graph: Graph) -> None:
    """Write a network, by the names of its nodes and of its operators.

    PyTorch's writer takes modules of PyTorch only, and names their operators.
    """
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from torch.utils.tensorboard import FileWriter

    found = GraphDef()
    for node in graph.nodes:
        op = "Variable" if node.is_variable else node.operator.name
        made = found.node.add(name=node.name, op=op)
        made.input.extend(
            entry.node.name if entry.index == 0 else f"{entry.node.name}:{entry.index}"
            for entry in node.inputs
        )
        for key, value in {**getattr(node, "given", {}), **node.attributes}.items():
            made.attr[key].s = str(value).encode()
    writer = FileWriter(folder, filename_suffix=".graph")
    writer.add_graph((found, RunMetadata()))
    writer.close()
