"""Mistakes with pictures, TensorBoard, quantization, gluon, checkpoints, PyTorch and the networks of `mx.models`."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import torch

import rebind as mx
import rebind.convert
import rebind.pytorch
from rebind import nd
from rebind.checkpoint import Checkpoint

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
    "models: number": (lambda: mx.models.get(5), "models.get: name must be text; got 5"),
    "models: resnet image_shape": (
        lambda: mx.models.resnet(image_shape=(3,)),
        "resnet: image_shape must be (channels, height, width); got (3,)",
    ),
    "models: mlp hidden": (lambda: mx.models.mlp(hidden=5), "mlp: hidden must be a list; got 5"),
    "models: mobilenet multiplier": (
        lambda: mx.models.mobilenet(multiplier="a"),
        "mobilenet: multiplier must be a number; got the text 'a'",
    ),
    "models: mobilenet_v2 multiplier": (
        lambda: mx.models.mobilenet_v2(multiplier="a"),
        "mobilenet_v2: multiplier must be a number; got the text 'a'",
    ),
    "to_torch: symbol": (lambda: mx.to_torch(5, {}), "to_torch: symbol must be an instance of Symbol; got 5"),
    "to_torch: arg_params": (
        lambda: mx.to_torch(net(), None),
        "to_torch: arg_params must be a dict; got None",
    ),
    "to_torch: aux_params": (
        lambda: mx.to_torch(net(), {}, 5),
        "to_torch: aux_params must be a dict or None; got 5",
    ),
    "to_torch: shapes": (
        lambda: mx.to_torch(net(), {}, shapes=5),
        "to_torch: shapes must be a dict or None; got 5",
    ),
    "to_torch: name in shapes": (
        lambda: mx.to_torch(net(), {}, shapes={"dta": (2,)}),
        "to_torch: shapes must name inputs; got 'dta'; did you mean 'data'",
    ),
    "to_torch: shape": (
        lambda: mx.to_torch(net(), {}, shapes={"data": "a"}),
        "to_torch: shapes['data'] must be an int or a sequence of ints; got 'a'",
    ),
    "write_python: folder": (
        lambda: rebind.pytorch.write_python(net(), {}, FOLDER + "/no/net.py"),
        "write_python: the folder ... must exist",
    ),
    "to_params: names": (
        lambda: rebind.pytorch.to_params(torch.nn.Linear(2, 3), 5),
        "to_params: names must be a path; got 5",
    ),
    "to_params: file": (
        lambda: rebind.pytorch.to_params(torch.nn.Linear(2, 3), __file__),
        "tools.py' must be a safetensors file of write_python(); ",
    ),
    "convert: read_model number": (
        lambda: rebind.convert.read_model(5),
        "read_model: path must be a path, or a list of two; got 5",
    ),
    "checkpoint: load_checkpoint number": (
        lambda: mx.model.load_checkpoint(5, 1),
        "load_checkpoint: prefix must be a path; got 5",
    ),
    "checkpoint: load_params number": (
        lambda: mx.model.load_params(5, 1),
        "load_checkpoint: prefix must be a path; got 5",
    ),
    "checkpoint: no such path": (
        lambda: mx.model.load_checkpoint(pathlib.Path(FOLDER) / "none", 1),
        "load_checkpoint: the file ... must exist. There are none of the prefix",
    ),
    "checkpoint: prefix": (lambda: Checkpoint(5), "Checkpoint: prefix must be a path; got 5"),
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
    "quantize: aux_params": (
        lambda: mx.contrib.quantization.quantize_model(net(), {}, 3),
        "quantize_model: aux_params must be a dict; got 3",
    ),
    "text: count_tokens_from_str": (
        lambda: mx.contrib.text.utils.count_tokens_from_str(3),
        "count_tokens_from_str: source_str must be text; got 3",
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
