"""Where time goes, by node: what a recording has of each node of the networks that ran."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .costs import bytes_moved, multiply_adds
from .recording import CUSTOM, Array, Recording, Slice

__all__ = ["IterationRecord", "NodeRecord", "by_iteration", "by_node", "by_prefix"]


@dataclass
class NodeRecord:
    """The figures of a node, of an operator that was called by itself, or of all nodes with a prefix.

    Attributes
    ----------
    name, operator
        The node's name and its operator.
    inputs, outputs
        The shapes of the last call.
    calls
        How often forward ran.
    forward, backward
        Seconds, of all calls together.
    share
        Of the time of all operators: 0 to 1.
    multiply_adds
        Of all forward calls; None where the operator does not say.
    nbytes
        What all forward calls read and wrote, each array once.
    nodes
        The names of the nodes, of a piece of compiled code.
    """

    name: str
    operator: str
    inputs: tuple[tuple[int, ...] | None, ...] = ()
    outputs: tuple[tuple[int, ...] | None, ...] = ()
    calls: int = 0
    forward: float = 0.0
    backward: float = 0.0
    share: float = 0.0
    multiply_adds: int | None = 0
    nbytes: int = 0
    nodes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Forward and backward.

        >>> NodeRecord("fc1", "FullyConnected", forward=1.0, backward=2.0).seconds
        3.0
        """
        return self.forward + self.backward

    @property
    def gflops(self) -> float | None:
        """Billions of operations per second in forward; a multiply-add counts as two.

        >>> NodeRecord("fc1", "FullyConnected", forward=0.5, multiply_adds=10**9).gflops
        4.0
        """
        if self.multiply_adds is None or not self.forward:
            return None
        return 2e-9 * self.multiply_adds / self.forward

    @property
    def gbytes(self) -> float | None:
        """Billions of bytes per second in forward.

        >>> NodeRecord("fc1", "FullyConnected", forward=0.5, nbytes=10**9).gbytes
        2.0
        """
        return 1e-9 * self.nbytes / self.forward if self.forward and self.nbytes else None

    def as_dict(self) -> dict[str, Any]:
        """Return it as a row of a table.

        >>> sorted(NodeRecord("fc1", "FullyConnected").as_dict())[:3]
        ['backward', 'calls', 'forward']
        """
        return {**asdict(self), "seconds": self.seconds, "gflops": self.gflops, "gbytes": self.gbytes}

    def _add(self, found: Slice) -> None:
        if found.kind == "backward":
            self.backward += found.seconds
            return
        self.calls += found.calls
        self.forward += found.seconds
        self.inputs, self.outputs = _shapes(found.inputs), _shapes(found.outputs)
        self.nbytes += bytes_moved(found.inputs, found.outputs)
        self._add_multiply_adds(multiply_adds(found.node, found.inputs, found.outputs))

    def _add_multiply_adds(self, count: int | None) -> None:
        known = self.multiply_adds
        self.multiply_adds = None if known is None or count is None else known + count


def by_node(recording: Recording) -> list[NodeRecord]:
    """Return the figures of each node, the slowest first.

    >>> recording = Recording()
    >>> recording.slices += [
    ...     Slice("operator", "fc1", 0.0, 1.0, "FullyConnected", "forward"),
    ...     Slice("operator", "fc1_backward", 1.0, 4.0, "_backward_FullyConnected", "backward"),
    ... ]
    >>> [(each.name, each.operator, each.forward, each.backward) for each in by_node(recording)]
    [('fc1', 'FullyConnected', 1.0, 3.0)]
    """
    found: dict[tuple[str, str], NodeRecord] = {}
    for each in list(recording.slices):
        inside_custom = each.category == CUSTOM and not each.statistic.endswith("::pure_python")
        if inside_custom or each.kind in ("run", "task", "frame", "event", ""):
            continue
        key = _name(each), each.statistic.removeprefix("_backward_")
        found.setdefault(key, NodeRecord(*key, nodes=each.nodes))._add(each)
    rows = [*found.values(), *_rest_of_autograd(recording)]
    return _shared(rows)


def _name(each: Slice) -> str:
    return each.name.removesuffix("_backward") if each.kind == "backward" else each.name


def _shared(rows: Iterable[NodeRecord]) -> list[NodeRecord]:
    """Fill in the shares, and sort."""
    ordered = sorted(rows, key=lambda row: row.seconds, reverse=True)
    total = sum(row.seconds for row in ordered)
    for row in ordered:
        row.share = row.seconds / total if total else 0.0
    return ordered


def _rest_of_autograd(recording: Recording) -> list[NodeRecord]:
    """Return what autograd took beside the operators: sums of gradients, and its own time."""
    pieces = [each for each in recording.slices if each.category == "autograd"]
    if not pieces:
        return []
    inner = [each for each in recording.slices if each.kind == "backward"]
    rest = NodeRecord("(autograd)", "autograd", calls=len(pieces), multiply_adds=None)
    for piece in pieces:
        inside = sum(each.seconds for each in inner if piece.begin <= each.begin and each.end <= piece.end)
        rest.backward += max(0.0, piece.seconds - inside)
    return [rest]


def by_prefix(recording: Recording, depth: int = 1) -> list[NodeRecord]:
    """Return what is known of all nodes whose names have the same first words, `depth` of them.

    What parts words is ``_``, ``/`` or ``.``.

    >>> recording = Recording()
    >>> recording.slices += [
    ...     Slice("operator", name, 0.0, 1.0, "exp", "forward")
    ...     for name in ("stage1_conv1", "stage1_conv2", "fc")
    ... ]
    >>> [(each.name, each.calls, each.forward) for each in by_prefix(recording)]
    [('stage1', 2, 2.0), ('fc', 1, 1.0)]
    """
    found: dict[str, NodeRecord] = {}
    operators: dict[str, dict[str, None]] = {}
    for row in by_node(recording):
        prefix = "".join(re.split(r"([_/.])", row.name)[: 2 * depth - 1]) or row.name
        group = found.setdefault(prefix, NodeRecord(prefix, ""))
        operators.setdefault(prefix, {})[row.operator] = None
        group.calls += row.calls
        group.forward += row.forward
        group.backward += row.backward
        group.nbytes += row.nbytes
        group._add_multiply_adds(row.multiply_adds)
    for prefix, names in operators.items():
        found[prefix].operator = ", ".join(names)
    return _shared(found.values())


@dataclass
class IterationRecord:
    """Where the time of an iteration went, in seconds.

    Attributes
    ----------
    number
        From 0.
    seconds
        All of it.
    data, forward, backward, update
        Waiting for the batch; the runs of executors; the updates of weights.
    """

    number: int
    seconds: float
    data: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    update: float = 0.0

    @property
    def other(self) -> float:
        """All other time: the metric, callbacks, the program itself.

        >>> IterationRecord(0, 1.0, forward=0.25, backward=0.5).other
        0.25
        """
        return max(0.0, self.seconds - self.data - self.forward - self.backward - self.update)

    def as_dict(self) -> dict[str, Any]:
        """Return it as a row of a table.

        >>> list(IterationRecord(0, 1.0).as_dict())
        ['number', 'seconds', 'data', 'forward', 'backward', 'update', 'other']
        """
        return {**asdict(self), "other": self.other}


def by_iteration(recording: Recording) -> list[IterationRecord]:
    """Return where the time of each iteration went.

    >>> from .recording import Step
    >>> recording = Recording()
    >>> recording.steps += [Step(0.0), Step(2.0)]
    >>> recording.slices.append(Slice("MXNET_C_API", "forward", 0.5, 1.5, "MXExecutorForward", "run"))
    >>> recording.slices.append(Slice("MXNET_C_API", "forward", 2.5, 3.5, "MXExecutorForward", "run"))
    >>> [(each.number, each.seconds, each.forward) for each in by_iteration(recording)]
    [(0, 2.0, 1.0), (1, 1.5, 1.0)]
    """
    steps, slices = list(recording.steps), list(recording.slices)
    if not steps:
        return []
    begins = [step.begin for step in steps]
    last = max([each.end for each in slices if each.begin >= begins[-1]], default=begins[-1])
    ends = [step.end or after for step, after in zip(steps, [*begins[1:], last], strict=True)]
    found = [IterationRecord(i, end - begin) for i, (begin, end) in enumerate(zip(begins, ends, strict=True))]
    for each in slices:
        column, number = _column(each), bisect_right(begins, each.begin) - 1
        if column and number >= 0 and each.begin <= ends[number]:
            setattr(found[number], column, getattr(found[number], column) + each.seconds)
    return found


def _column(each: Slice) -> str:
    if each.kind == "run" or each.category == "step":
        return each.name
    return "update" if each.kind == "update" else ""


def _shapes(arrays: Iterable[Array | None]) -> tuple[tuple[int, ...] | None, ...]:
    return tuple(None if each is None else tuple(each.shape) for each in arrays)
