"""Time exported networks in onnxruntime beside PyTorch's export of the same: `python -m benchmarks.onnx [NETWORK ...]`.

PyTorch exports the module that `mx.to_torch` gives, at the same opset. Both files run in turn on one thread, in process
time.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rebind as mx

__all__ = ["ratio"]

OPSET = 20


def _resnet(layers: int) -> Callable[[], tuple[Any, dict[str, tuple[int, ...]]]]:
    return lambda: (mx.models.get(f"resnet{layers}_v1"), {"data": (1, 3, 224, 224)})


def _lstm() -> tuple[Any, dict[str, tuple[int, ...]]]:
    cell = mx.rnn.FusedRNNCell(256, num_layers=2, mode="lstm", prefix="lstm_")
    outputs, _ = cell.unroll(35, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    return mx.sym.FullyConnected(outputs, num_hidden=100, flatten=False, name="fc"), {"data": (35, 8, 128)}


NETWORKS = {"resnet18": _resnet(18), "resnet50": _resnet(50), "lstm": _lstm}


def _session(path: Path) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _write(name: str, folder: Path) -> tuple[dict[str, Path], dict[str, np.ndarray]]:
    """Write both files; return them, and inputs."""
    import torch

    net, shapes = NETWORKS[name]()
    module = mx.mod.Module(
        net, data_names=list(shapes), label_names=[n for n in net.list_arguments() if "label" in n]
    )
    module.bind(list(shapes.items()), for_training=False)
    module.init_params(mx.init.Xavier())
    params, states = module.get_params()
    inputs = {key: np.random.default_rng(0).random(shape, np.float32) for key, shape in shapes.items()}
    files = {engine: folder / f"{engine}.onnx" for engine in ("rebind", "torch")}
    mx.onnx.export_model(
        net, [params, states], list(shapes.values()), onnx_file_path=str(files["rebind"]), opset=OPSET
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            mx.to_torch(net, params, states, shapes=shapes).eval(),
            tuple(map(torch.from_numpy, inputs.values())),
            files["torch"],
            input_names=list(inputs),
            opset_version=OPSET,
            external_data=False,
            verbose=False,
        )
    return files, inputs


def ratio(name: str, rounds: int) -> tuple[float, float, float]:
    """Return the median times in ms of rebind's file and PyTorch's, and the median of their ratios."""
    with tempfile.TemporaryDirectory() as folder:
        files, inputs = _write(name, Path(folder))
        sessions = {engine: _session(path) for engine, path in files.items()}
    times: dict[str, list[float]] = {engine: [] for engine in sessions}
    outputs = [session.run(None, inputs)[0] for session in sessions.values()]
    np.testing.assert_allclose(*outputs, rtol=1e-3, atol=1e-4)
    for _ in range(rounds):
        for engine, session in sessions.items():
            began = time.process_time()
            session.run(None, inputs)
            times[engine].append((time.process_time() - began) * 1e3)
    ours, theirs = (statistics.median(samples) for samples in times.values())
    ratios = [one / other for one, other in zip(*times.values(), strict=True)]
    return ours, theirs, statistics.median(ratios)


def main() -> None:
    """Print a row for each network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    print("| network | rebind's file, ms | PyTorch's file, ms | ratio |\n| --- | --- | --- | --- |")
    for name in arguments.networks:
        ours, theirs, quotient = ratio(name, arguments.rounds)
        print(f"| {name} | {ours:.1f} | {theirs:.1f} | {quotient:.3f} |")


if __name__ == "__main__":
    main()
