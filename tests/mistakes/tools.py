"""Mistakes with pictures, TensorBoard, quantization, gluon and the networks of `mx.models`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rebind as mx
from rebind import nd

from .things import FOLDER, batches, net

HISTORY = {"train": {"accuracy": [0.5, 0.75]}}


def quantized(**settings: Any) -> Any:
    params = {"fc1_weight": nd.ones((3, 4)), "fc1_bias": nd.ones((3,))}
    given = {"calib_mode": "naive", "calib_data": batches(), **settings}
    return mx.contrib.quantization.quantize_model(net(), params, {}, **given)


def dense() -> Any:
    return mx.gluon.nn.Dense(3)


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "profile: plot suffix": (
        lambda: mx.profiler.Profile().plot("p.xyz"),
        "Profile.plot: the suffix of the path must name a format, such as .png, .svg, .pdf; got 'p.xyz'. ... svg",
    ),
    "profile: plot suffix near": (
        lambda: mx.profiler.Profile().plot("p.pngg"),
        "such as .png, .svg, .pdf; got 'p.pngg'; did you mean 'png'",
    ),
    "profile: plot number": (
        lambda: mx.profiler.Profile().plot(3),
        "Profile.plot: path must be a path; got 3",
    ),
    "viz: plot_history suffix": (
        lambda: mx.viz.plot_history(HISTORY, "p.xyz"),
        "plot_history: the suffix of the path must name a format, such as .png, .svg, .pdf; got 'p.xyz'",
    ),
    "viz: plot_history folder": (
        lambda: mx.viz.plot_history(HISTORY, FOLDER + "/no/p.png"),
        "plot_history: the folder ... must exist. Make it with os.makedirs(",
    ),
    "cb: TensorBoard file": (
        lambda: mx.callback.TensorBoard(__file__),
        "TensorBoard: folder must be a folder, new or existing; ... is a file. Choose another name.",
    ),
    "cb: TensorBoard in a file": (
        lambda: mx.callback.TensorBoard(__file__ + "/run"),
        "TensorBoard: folder must be a folder, new or existing; ... is a file. Choose another name.",
    ),
    "cb: TensorBoard number": (
        lambda: mx.callback.TensorBoard(3),
        "TensorBoard: folder must be a path; got 3",
    ),
    "cb: LogMetricsCallback file": (
        lambda: mx.contrib.tensorboard.LogMetricsCallback(__file__),
        "LogMetricsCallback: folder must be a folder, new or existing; ... is a file. Choose another name.",
    ),
    "quantize: data_names near": (
        lambda: quantized(data_names=("dta",)),
        "quantize_model: data_names must be inputs of the network; got 'dta'; did you mean 'data'?",
    ),
    "quantize: the iterator's name": (
        lambda: quantized(calib_data=batches(data={"image": nd.ones((8, 4))})),
        "quantize_model: calib_data must give the input 'data'; got 'image'. Name it in the iterator: "
        "NDArrayIter(..., data_name='data').",
    ),
    "models: parameter near": (
        lambda: mx.models.get("lenet", num_clases=3),
        "models.get('lenet'): no argument 'num_clases'; did you mean 'num_classes'?",
    ),
    "models: parameter near, of a family": (
        lambda: mx.models.get("vgg11", num_clases=3),
        "models.get('vgg11'): no argument 'num_clases'; did you mean 'num_classes'",
    ),
    "models: parameter far": (
        lambda: mx.models.get("lenet", depth=3),
        "models.get('lenet'): no argument 'depth'. Arguments: num_classes.",
    ),
    "viz: plot_network node_attrs": (
        lambda: mx.viz.plot_network(net(), node_attrs=3),
        "plot_network: node_attrs must be a dict or None; got 3",
    ),
    "gluon: initialize ctx": (
        lambda: dense().initialize(ctx=3),
        "ctx must be a Device or a list of them; got 3",
    ),
    "gluon: collect_params pattern": (
        lambda: dense().collect_params("["),
        "collect_params: select must be a regular expression; got '[' (unterminated",
    ),
    "gluon: apply": (lambda: dense().apply(3), "apply: fn must be a function; got 3"),
    "gluon: ParameterDict.update": (
        lambda: mx.gluon.ParameterDict().update(3),
        "ParameterDict.update: other must be an instance of ParameterDict; got 3",
    ),
    "gluon: split_and_load": (
        lambda: mx.gluon.utils.split_and_load(nd.ones((4,)), 2),
        "split_and_load: ctx_list must be a Device or a list of them; got 2",
    ),
    "gluon: clip_global_norm": (
        lambda: mx.gluon.utils.clip_global_norm([nd.ones((2,))], "1"),
        "clip_global_norm: max_norm must be a number; got the text '1'",
    ),
}

WARNED: dict[str, tuple[Callable[[], object], str]] = {
    "quantize: excluded_op_names near": (
        lambda: quantized(excluded_op_names=["FullyConected"]),
        "quantize_model: excluded_op_names: no node of operator 'FullyConected'; did you mean 'FullyConnected'?",
    ),
    "quantize: excluded_sym_names near": (
        lambda: quantized(excluded_sym_names=["fc11"]),
        "quantize_model: excluded_sym_names: no node 'fc11'; did you mean 'fc1'?",
    ),
}
