"""Labels and indices that are no class, for MXNet and for rebind: `mx` is either.

Left out are those for which MXNet reads foreign memory (the value of `softmax_cross_entropy`) or fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .golden import Arrays

_RANDOM = np.random.RandomState(3)
SCORES = _RANDOM.rand(6, 3).astype("float32")
MAPS = _RANDOM.rand(2, 3, 3).astype("float32")
#: Classes, the number of classes, other numbers above it and below 0, and what is no whole number.
LABELS = np.array([0, -1, 3, 255, 2, 1.5], "float32")
MAP_LABELS = np.array([[0, -1, 3], [255, 2, -7]], "float32")
PREDICTED = np.array([[0.2, 0.5, 0.3], [0.1, 0.15, 0.75], [0.6, 0.3, 0.1], [0.4, 0.35, 0.25]], "float32")

_IGNORED = [
    {},
    {"use_ignore": True, "ignore_label": -1},
    {"use_ignore": True, "ignore_label": 255},
    {"use_ignore": True, "ignore_label": -1, "normalization": "valid"},
]
_MODES = [{}, {"normalization": "valid"}, {"normalization": "batch"}, {"smooth_alpha": 0.1}]

#: Operator, whether it takes maps, settings, whether a MakeLoss follows, whether its value is defined.
OPERATORS: dict[str, tuple[str, bool, dict[str, Any], bool, bool]] = {
    **{
        f"SoftmaxOutput {layout} {mode} {ignored}": (
            "SoftmaxOutput",
            bool(layout),
            {**layout, **mode, **ignored},
            False,
            True,
        )
        for layout in ({}, {"multi_output": True}, {"preserve_shape": True})
        for mode in _MODES
        for ignored in _IGNORED
        # MXNet leaves the smoothing out there, against its documentation.
        if not ("multi_output" in layout and "smooth_alpha" in mode)
    },
    **{
        f"SVMOutput {settings}": ("SVMOutput", False, settings, False, True)
        for settings in ({}, {"use_linear": True}, {"margin": 0.5, "regularization_coefficient": 2.0})
    },
    "softmax_cross_entropy": ("softmax_cross_entropy", False, {}, True, False),
    "pick clip": ("pick", False, {"mode": "clip"}, True, True),
    "pick wrap": ("pick", False, {"mode": "wrap"}, True, True),
}


def computed(mx: Any, name: str) -> Arrays:
    """Return the output, where it is defined, and the gradient of the scores."""
    operator, maps, settings, looses, has_value = OPERATORS[name]
    scores, labels = (MAPS, MAP_LABELS) if maps else (SCORES, LABELS)
    net = getattr(mx.sym, operator)(mx.sym.var("scores"), mx.sym.var("labels"), **settings)
    net = mx.sym.MakeLoss(net) if looses else net
    arrays = {"scores": mx.nd.array(scores), "labels": mx.nd.array(labels)}
    grads = {"scores": mx.nd.zeros(scores.shape)}
    executor = net.bind(mx.cpu(), arrays, args_grad=grads, grad_req={"scores": "write", "labels": "null"})
    executor.forward(is_train=True)
    executor.backward()
    found = {"gradient": executor.grad_dict["scores"].asnumpy()}
    return {**found, "output": executor.outputs[0].asnumpy()} if has_value else found


def rows(mx: Any, name: str) -> Arrays:
    """Return what indices outside of a table give."""
    labels = mx.nd.array(LABELS)
    if name == "one_hot":
        return {"output": mx.nd.one_hot(labels, depth=3).asnumpy()}
    return {"output": mx.nd.Embedding(labels, mx.nd.array(SCORES[:3]), input_dim=3, output_dim=3).asnumpy()}


ROWS = ("one_hot", "Embedding")

METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "acc": ("acc", {}),
    "top_k": ("top_k_accuracy", {"top_k": 2}),
    "ce": ("ce", {}),
    "nll": ("nll_loss", {}),
    "perplexity": ("perplexity", {"ignore_label": None}),
    "perplexity, -1 ignored": ("perplexity", {"ignore_label": -1}),
    "f1": ("f1", {}),
    "mcc": ("mcc", {}),
}
LABELLED = {
    "inside": [0, 1, 2, 2],
    "-1": [-1, 1, 2, 0],
    "the number of classes": [3, 1, 2, 0],
    "255": [0, 1, 255, 0],
    "-1 alone": [-1, -1, 1, 1],
}


def measured(mx: Any, name: str, labels: str) -> float | str:
    """Return a metric's figure; or the class of the error, as far as it is Python's own."""
    kind, settings = METRICS[name]
    metric = mx.metric.create(kind, **settings)
    try:
        metric.update([mx.nd.array(LABELLED[labels])], [mx.nd.array(PREDICTED)])
        return float(metric.get()[1])
    except (ValueError, IndexError):
        return "error"


# Whole runs.

POINTS = _RANDOM.rand(8, 4).astype("float32")
RUNS: dict[str, tuple[str, dict[str, Any], list[int], str]] = {
    f"{loss} {settings} {metric} {labels}": (loss, settings, labels, metric)
    for loss, settings in (
        ("SoftmaxOutput", {}),
        ("SoftmaxOutput", {"use_ignore": True, "ignore_label": 255}),
        ("SVMOutput", {}),
    )
    for metric, labels in (
        ("acc", [0, 1, -1, 0, 1, 2, 0, 1]),
        ("acc", [1, 2, 3, 1, 2, 3, 1, 2]),
        ("acc", [0, 1, 255, 0, 1, 2, 255, -1]),
        ("ce", [0, 1, -1, 0, 1, 2, 0, 1]),
    )
    if not (loss == "SVMOutput" and metric == "ce")  # scores are no probabilities
}


def trained(mx: Any, name: str, log: Callable[[float], object]) -> Arrays:
    """Train with labels of which some are no class; return the parameters, and log the figure of each epoch."""
    loss, settings, labels, metric = RUNS[name]
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    net = getattr(mx.sym, loss)(net, mx.sym.var("softmax_label"), name="softmax", **settings)
    module = mx.mod.Module(net)
    module.fit(
        mx.io.NDArrayIter(POINTS, np.array(labels, "float32"), 4),
        num_epoch=3,
        eval_metric=metric,
        optimizer_params={"learning_rate": 0.5, "momentum": 0.9},
        initializer=mx.init.One(),
        batch_end_callback=lambda param: log(float(param.eval_metric.get()[1])),
    )
    return {key: value.asnumpy() for key, value in module.get_params()[0].items()}
