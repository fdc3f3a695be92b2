"""What executors of one network give together; the executors here only hold outputs."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.executor.group.outputs import Outputs, merged, output_axes, update_metric
from rebind.executor.group.routing import Inputs
from rebind.executor.group.split import Split
from rebind.io import DataDesc

SPLIT = Split((slice(0, 1), slice(1, 4)))


def outputs(split=SPLIT):
    """Three outputs: one with the batch first, one with it second, one that has none."""
    executors = [
        SimpleNamespace(outputs=[nd.ones((n, 2)) * k, nd.ones((5, n)) * k, nd.ones((3,))], output_dict={})
        for k, n in enumerate(split.sizes)
    ]
    return Outputs(["first", "second", "none"], [0, 1, -1], split, executors)


SPLITS = [SPLIT, Split((slice(0, 4),)), Split((slice(0, 1), slice(1, 2), slice(2, 4)))]


@pytest.mark.parametrize("split", SPLITS)
def test_shapes_for_the_whole_batch(split):
    assert outputs(split).shapes() == [("first", (4, 2)), ("second", (5, 4)), ("none", (3,))]


@pytest.mark.parametrize(("begin", "end"), [(0, None), (1, None), (0, 1), (1, 2)])
def test_some_outputs(begin, end):
    it = outputs()
    arrays = it.arrays(begin, end)
    assert merged(arrays, it.axes[begin:end], False) == arrays
    shapes = [array.shape for array in merged(arrays, it.axes[begin:end])]
    assert shapes == [shape for _, shape in it.shapes()][begin:end]


@pytest.mark.parametrize(
    ("split", "devices"), list(zip(SPLITS, [[0, 1, 1, 1], [0] * 4, [0, 1, 2, 2]], strict=True))
)
def test_joined_values(split, devices):
    first, second, none = merged(outputs(split).arrays(), [0, 1, -1])
    assert first.asnumpy()[:, 0].tolist() == second.asnumpy()[0].tolist() == devices
    assert none.shape == (3,)


@pytest.mark.parametrize(
    "form", [lambda grads: grads, lambda grads: dict(zip(["first", "second", "none"], grads, strict=True))]
)
def test_head_gradients_are_split(form):
    grads = [nd.array(np.arange(8).reshape(4, 2)), None, nd.ones((3,))]
    one, other = outputs().head_grads_for(form(grads))
    assert set(one) == set(other) == {"first", "none"}
    assert one["first"].asnumpy().tolist() == [[0, 1]] and other["first"].shape == (3, 2)
    assert one["none"] is other["none"] is grads[2]


def test_head_gradients_for_one_device_and_for_losses_stay_what_they_are():
    grads = [nd.ones((2, 2))]
    assert outputs(Split((slice(0, 2),))).head_grads_for(grads) == [grads]
    assert outputs().head_grads_for(None) == [None, None]


@pytest.mark.parametrize(
    ("grads", "says"),
    [
        ([nd.ones((4, 2))], "out_grads must hold 3 arrays, for ['first', 'second', 'none']; got 1"),
        (nd.ones((4, 2)), "out_grads must hold 3 arrays"),
        (
            {"second": nd.ones((5, 3))},
            "the gradient of 'second' must have 4 samples, on axis 1; got shape (5, 3)",
        ),
    ],
)
def test_head_gradients_that_do_not_fit(grads, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        outputs().head_grads_for(grads)


@pytest.mark.parametrize(
    ("attributes", "axis"), [({}, 0), ({"__layout__": "TNC"}, 1), ({"__layout__": "C"}, -1)]
)
def test_axes_come_from_layouts(attributes, axis):
    with mx.AttrScope(**attributes):
        net = S.var("x") * 2
    assert output_axes(S.Group([S.var("y"), net]).graph) == [0, axis]


class Seen:
    def __init__(self):
        self.labels = []

    def update_dict(self, label, pred):
        self.labels.append({name: each.asnumpy().tolist() for name, each in label.items()})


@pytest.mark.parametrize(
    ("labels", "pre_sliced"),
    [([nd.array([1, 2, 3, 4])], False), ([[nd.array([1])], [nd.array([2, 3, 4])]], True)],
)
def test_a_metric_sees_each_devices_labels(labels, pre_sliced):
    arrays = [{"y": nd.zeros((n,))} for n in SPLIT.sizes]
    inputs = Inputs.of("label", [DataDesc("y", (4,))], SPLIT, arrays)
    seen = Seen()
    update_metric(seen, outputs().executors, inputs, labels, pre_sliced)
    assert seen.labels == [{"y": [1]}, {"y": [2, 3, 4]}]
    with pytest.raises(ValueError, match="labels must hold a list for each of 2 devices; got 1"):
        update_metric(seen, outputs().executors, inputs, [[]], pre_sliced=True)
