"""The outputs of several executors, joined as if one network had seen the whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import ShapeError
from ...graph import Graph
from ...ndarray import NDArray
from ...protocols import Labels, Metric
from ...shapes import Shape
from ..executor import Executor
from ..head_grads import HeadGrads, one_for_each
from .routing import Inputs
from .split import Split, batch_axis, join

__all__ = ["Outputs", "merged", "output_axes", "update_metric"]


def output_axes(graph: Graph) -> list[int]:
    """Return the batch axis of each output: that of its node's attribute ``__layout__``, or 0.

    >>> import rebind as mx
    >>> with mx.AttrScope(__layout__="TNC"):
    ...     steps = mx.sym.var("x") * 2
    >>> output_axes(steps.graph)
    [1]
    """
    # Read from the node: an operator does not tell where the batch has gone.
    return [batch_axis(entry.node.attributes.get("__layout__")) for entry in graph.outputs]


def merged(
    arrays: Sequence[Sequence[NDArray]], axes: Sequence[int], merge: bool = True
) -> list[NDArray] | list[list[NDArray]]:
    """Return for each output its arrays joined over the devices or, without `merge`, the list of them.

    >>> import rebind as mx
    >>> merged([[mx.nd.ones((1, 2)), mx.nd.ones((3, 2))]], [0])[0].shape
    (4, 2)
    """
    if not merge:
        return [list(each) for each in arrays]
    return [join(each, axis) for each, axis in zip(arrays, axes, strict=True)]


@dataclass(frozen=True)
class Outputs:
    """The outputs of executors that share a batch.

    Attributes
    ----------
    names, axes
        Name and batch axis of each output; -1: it is the same on all devices.
    split
        Which samples each device has.
    executors
        One for each device.
    """

    names: Sequence[str]
    axes: Sequence[int]
    split: Split
    executors: Sequence[Executor]

    def arrays(self, begin: int = 0, end: int | None = None) -> list[list[NDArray]]:
        """Return for each output the devices' arrays.

        >>> import rebind as mx
        >>> exes = [mx.sym.var("x").simple_bind(mx.cpu(), x=(n, 2)) for n in (1, 3)]
        >>> found = Outputs(["x"], [0], Split((slice(0, 1), slice(1, 4))), exes).arrays()
        >>> [[array.shape for array in each] for each in found]
        [[(1, 2), (3, 2)]]
        """
        # One pass over `outputs` a device: it is a property, and this runs once a batch.
        by_device = [exe.outputs[begin:end] for exe in self.executors]
        return [list(each) for each in zip(*by_device, strict=True)]

    def shapes(self) -> list[tuple[str, Shape]]:
        """Return names and shapes of the outputs for the whole batch.

        >>> import rebind as mx
        >>> exes = [mx.sym.var("x").simple_bind(mx.cpu(), x=(n, 2)) for n in (1, 3)]
        >>> Outputs(["x"], [0], Split((slice(0, 1), slice(1, 4))), exes).shapes()
        [('x', (4, 2))]
        """
        found = []
        for name, axis, arrays in zip(self.names, self.axes, self.arrays(), strict=True):
            shape = list(arrays[0].shape)
            if axis >= 0 and shape:
                shape[axis] = sum(each.shape[axis] for each in arrays)
            found.append((name, tuple(shape)))
        return found

    def head_grads_for(self, out_grads: HeadGrads) -> list[HeadGrads]:
        """Return for each device its slices of the outputs' gradients, in a form that `Executor.backward` takes.

        >>> import rebind as mx
        >>> outputs = Outputs(["out"], [0], Split((slice(0, 1), slice(1, 3))), [None, None])
        >>> [own["out"].asnumpy().tolist() for own in outputs.head_grads_for(mx.nd.array([1, 2, 3]))]
        [[1.0], [2.0, 3.0]]
        """
        # One device takes them as they are.
        if out_grads is None or self.split.is_whole:
            return [out_grads] * len(self.executors)
        if isinstance(out_grads, Mapping):
            by_name = dict(out_grads)
        else:
            given = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads)
            by_name = dict(zip(self.names, one_for_each(given, self.names), strict=True))
        # A name that is no output is left to the executor, whose error lists the outputs.
        axes = dict(zip(self.names, self.axes, strict=True))
        return [
            {
                name: self.split.take_array(grad, k, axes.get(name, 0), f"backward: the gradient of {name!r}")
                for name, grad in by_name.items()
                if grad is not None
            }
            for k in range(len(self.executors))
        ]


def update_metric(
    metric: Metric,
    executors: Sequence[Executor],
    inputs: Inputs,
    labels: Labels,
    pre_sliced: bool = False,
) -> None:
    """Add the last batch's outputs to a metric, device by device.

    `labels` are for the whole batch or, with `pre_sliced`, a list of such lists, one for each device; `inputs` are
    their names and split.

    >>> import rebind as mx
    >>> exes = [mx.sym.identity(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array(x)}) for x in ([1], [2, 3])]
    >>> _ = [exe.forward() for exe in exes]
    >>> labels = Inputs.of("label", [], Split((slice(0, 1), slice(1, 3))), [{}, {}])
    >>> metric = mx.metric.MAE()
    >>> update_metric(metric, exes, labels, [mx.nd.array([1, 2, 6])])
    >>> metric.get()  # 0 on the first device, (0 + 3) / 2 on the second
    ('mae', 0.75)
    """
    if pre_sliced and len(labels) != len(executors):
        raise ShapeError(
            f"update_metric: with pre_sliced, labels must hold a list for each of {len(executors)} devices; "
            f"got {len(labels)}"
        )
    for k, exe in enumerate(executors):
        own = list(labels[k]) if pre_sliced else inputs.slices_for(k, labels, "update_metric")  # type: ignore[arg-type]
        metric.update_dict(inputs.by_name(own), exe.output_dict)  # type: ignore[arg-type]
