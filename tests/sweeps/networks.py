"""What the sweeps take out of rebind and back: every network of `mx.models`, and every recorded checkpoint.

Networks of `mx.models` get small inputs and seeded numbers that are as in training: the statistics of BatchNorm are
those of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.parity.golden import FILES, NETWORKS, group, read_arrays
from tests.parity.legacy import INPUT_SHAPES, SYMBOLS
from tests.parity.models import draw
from tests.parity.networks import NETWORKS as RECORDED

import rebind as mx
from rebind.graph import Graph, deployed

Arrays = Mapping[str, np.ndarray]

#: The smallest inputs that leave every layer some positions.
SIZES: dict[str, tuple[int, ...]] = {
    "mlp": (2, 784), "lenet": (2, 1, 28, 28), "lstm_language_model": (2, 32), "mobilefacenet": (4, 3, 112, 112),
    **{f"arcface_resnet{depth}": (4, 3, 64, 64) for depth in (34, 50, 100)},  # they end in a BatchNorm
    "alexnet": (2, 3, 99, 99), "caffenet": (2, 3, 99, 99), "ssd300_vgg16_reduced": (1, 3, 300, 300),
    "inception_v3": (2, 3, 107, 107), "inception_v4": (2, 3, 107, 107), "inception_resnet_v2": (2, 3, 107, 107),
    **{f"faster_rcnn_{network}": (1, 3, 64, 80) for network in ("vgg16", "resnet50", "resnet101")},
    "retinaface_mnet.25": (2, 3, 96, 64), "retinaface_r50": (2, 3, 96, 64),
}  # fmt: skip
OTHERS = (2, 3, 64, 64)

#: Hundreds of layers, of which each rounds.
DEEP = {"resnet152", "resnext152", "resnet200", "resnet269", "inception_resnet_v2", "densenet201"}
#: Of all kinds, and soon done: they run with the other tests.
QUICK = {
    "mlp",
    "mobilenet_v3_small",
    "squeezenet1.1",
    "retinaface_mnet.25",
    "recorded-resnet",
    "recorded-lstm_lm",
}

#: The longer side of those of Faster R-CNN: steps of 16 pixels, 32 times, with sides of 1 to 2.
LARGEST_ANCHOR = 16 * 32 * math.sqrt(2)

NAMES = [
    *mx.models.list(),
    *(f"recorded-{network.name}" for network in RECORDED),
    *sorted(SYMBOLS),
]
each_network = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in NAMES]
)


@dataclass(frozen=True)
class Checkpoint:
    """A network as it is used, with its numbers and a batch.

    Attributes
    ----------
    symbol
        The network without losses. What its softmax layers take is an output too: they may hide differences.
    arg_params, aux_params
        Parameters and auxiliary states.
    inputs
        A batch by name.
    tolerance
        Largest difference from an output of another engine, as a share of the output's largest number.
    """

    name: str
    symbol: Any
    arg_params: Mapping[str, Any]
    aux_params: Mapping[str, Any]
    inputs: Arrays
    tolerance: float

    @property
    def of_one_image(self) -> bool:
        """Whether the batch has one image: `Proposal` takes no more."""
        return "im_info" in self.inputs

    @property
    def params(self) -> dict[str, Any]:
        return {**self.arg_params, **self.aux_params}

    def outputs(self) -> list[np.ndarray]:
        """Return what rebind computes."""
        return [output.asnumpy() for output in _executor(self).forward(is_train=False)]

    def exact_outputs(self) -> list[np.ndarray]:
        """Return what rebind computes in float64."""
        arg_params, aux_params = (
            {key: value.astype("float64") for key, value in params.items()}
            for params in (self.arg_params, self.aux_params)
        )
        inputs = {key: value.astype("float64") for key, value in self.inputs.items()}
        return replace(self, arg_params=arg_params, aux_params=aux_params, inputs=inputs).outputs()

    def check(self, outputs: Sequence[np.ndarray], expected: Sequence[np.ndarray] | None = None) -> None:
        """Compare outputs with rebind's, or with those that are expected."""
        names = self.symbol.list_outputs()
        for name, found, wanted in zip(names, outputs, expected or self.outputs(), strict=True):
            assert found.shape == wanted.shape, name
            assert np.isfinite(wanted).all(), name
            # Boxes are computed in the size of the anchors, and then cut to the image, which is smaller here.
            largest = LARGEST_ANCHOR if name == "rois_output" else 0
            limit = self.tolerance * np.abs(wanted).max(initial=largest)
            if name == "detection_output":
                found, wanted = _in_one_order(found, wanted)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=limit, err_msg=f"{self.name}: {name}")


def _in_one_order(found: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return detections, each beside the nearest one: rounding orders equal scores. Suppressed boxes are left out."""
    pairs = []
    for one, other in zip(found, wanted, strict=True):
        one, other = one[one[:, 0] >= 0], other[other[:, 0] >= 0]
        nearest = np.abs(other[:, None] - one[None]).max(-1).argmin(1)
        assert sorted(nearest) == list(range(len(one))), "each must have one of its own"
        pairs.append((one[nearest], other))
    return np.concatenate([one for one, _ in pairs]), np.concatenate([other for _, other in pairs])


def checkpoint(name: str) -> Checkpoint:
    """Return a network by its name in `NAMES`."""
    if name.startswith("recorded-"):
        return _recorded(name.removeprefix("recorded-"))
    return _legacy(name) if name in SYMBOLS else _model(name)


def _used(symbol: Any, shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """Return a network as it is used, with what its softmax layers take."""
    graph = deployed(symbol.graph, shapes).graph
    scores = [node.inputs[0] for node in graph.nodes if getattr(node.operator, "name", "") == "softmax"]
    return mx.sym.Symbol(Graph(dict.fromkeys([*graph.outputs, *scores])))


def _executor(one: Checkpoint, grad_req: str | dict[str, str] = "null") -> Any:
    names = one.symbol.list_arguments()
    inputs = {name: mx.nd.array(value, dtype=value.dtype) for name, value in one.inputs.items()}
    arguments = {**one.arg_params, **inputs}
    return one.symbol.bind(
        mx.cpu(),
        {name: arguments[name] for name in names},
        {name: mx.nd.zeros(inputs[name].shape) for name in grad_req} if isinstance(grad_req, dict) else None,
        grad_req,
        dict(one.aux_params),
    )


# Networks of `mx.models`


def _model(name: str) -> Checkpoint:
    shape = SIZES.get(name, OTHERS)
    inputs = {"data": np.random.RandomState(1).standard_normal(shape).astype(np.float32)}
    if name == "lstm_language_model":
        inputs["data"] = np.random.RandomState(1).randint(0, 10_000, shape).astype(np.float32)
    if name.startswith("faster_rcnn"):
        inputs["im_info"] = np.array([[*shape[2:], 1]], np.float32)
    shapes = {key: value.shape for key, value in inputs.items()}
    symbol = _used(mx.models.get(name), shapes)
    arguments, _, states = symbol.infer_shape(**shapes)
    tolerance = 1e-4 if name.removesuffix("_v1").removesuffix("_v2") in DEEP else 1e-5
    drawn = Checkpoint(
        name,
        symbol,
        {
            key: mx.nd.array(draw(key, size))
            for key, size in zip(symbol.list_arguments(), arguments, strict=True)
            if key not in inputs
        },
        {
            key: mx.nd.array(draw(key, size))
            for key, size in zip(symbol.list_auxiliary_states(), states, strict=True)
        },
        inputs,
        tolerance,
    )
    return _with_statistics(drawn) if states else drawn


def _with_statistics(drawn: Checkpoint) -> Checkpoint:
    """Return a network whose BatchNorm layers have the mean and variance of the batch.

    A variance is at least the mean of its layer's: channels without numbers of their own would become rounding errors,
    multiplied by hundreds.
    """
    forgetting = mx.sym.load_json(drawn.symbol.tojson().replace('"momentum": "0.9"', '"momentum": "0"'))
    executor = _executor(replace(drawn, symbol=forgetting), grad_req={"data": "write"})
    outputs = executor.forward(is_train=True)
    executor.backward([mx.nd.ones(output.shape) for output in outputs])  # as in MXNet, it updates statistics
    states = executor.aux_dict
    variances = {name: value for name, value in states.items() if name.endswith("_moving_var")}
    return replace(
        drawn,
        aux_params={
            **states,
            **{name: mx.nd.broadcast_maximum(v, mx.nd.mean(v)) for name, v in variances.items()},
        },
    )


# Recorded checkpoints


def _recorded(name: str) -> Checkpoint:
    (network,) = (network for network in RECORDED if network.name == name)
    symbol, arg_params, aux_params = mx.model.load_checkpoint(str(FILES / name), 1)
    batch = group(read_arrays(NETWORKS / f"{name}.npz"), "batch0")
    inputs = {key: batch[key] for key in network.data}
    return _checkpoint(f"recorded-{name}", symbol, arg_params, aux_params, inputs)


def _legacy(name: str) -> Checkpoint:
    """Return a network from a file of an old MXNet."""
    arrays = read_arrays(FILES / f"{name}.npz")
    arguments, states = (
        {key: mx.nd.array(value) for key, value in group(arrays, part).items()}
        for part in ("argument", "state")
    )
    inputs = {key: arguments.pop(key).asnumpy() for key in INPUT_SHAPES if key in arguments}
    return _checkpoint(name, mx.sym.load(str(FILES / f"{name}-symbol.json")), arguments, states, inputs)


def _checkpoint(
    name: str, symbol: Any, arg_params: Mapping[str, Any], aux_params: Mapping[str, Any], inputs: Arrays
) -> Checkpoint:
    """Return what a network uses of parameters and inputs."""
    used = _used(symbol, {key: value.shape for key, value in inputs.items()})
    names = used.list_inputs()
    return Checkpoint(
        name,
        used,
        {key: value for key, value in arg_params.items() if key in names},
        {key: value for key, value in aux_params.items() if key in names},
        {key: value for key, value in inputs.items() if key in names},
        1e-5,
    )
