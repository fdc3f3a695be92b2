"""The columns of the table: what can be timed, said once for the runner and for the workers.

A new column (a compiled mode, another framework, another device) is one more entry in `PEERS`. This file imports
none of the engines: it is read in the runner, and by the worker of each, MXNet's Python included.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .drivers import Setting
from .networks import Row

__all__ = ["PEERS", "Peer"]


def _everything(row: Row) -> bool:
    return True


def _images(row: Row) -> bool:
    return row.convolutional


def _training(row: Row) -> bool:
    return row.training


def _inference(row: Row) -> bool:
    return not row.training


def _images_in_inference(row: Row) -> bool:
    return row.convolutional and not row.training


@dataclass(frozen=True)
class Peer:
    """One engine as a user can choose it.

    Attributes
    ----------
    title
        Its name in the table.
    ready
        `module:function` of this package. The function gets a `Setting` and what `options` has; it imports the engine
        and answers with a function without arguments that makes the `Driver`.
    applies
        Whether the column says something about a row.
    needs
        Packages without which the column is left out. The report has the versions of those that the worker imports.
    quick
        Whether `--quick` has it: not what compiles for minutes, nor a second layout.
    asked_for
        Whether it answers a question of its own, so that the table has it only when it is named.
    reads_onnx
        Whether it gets the network as an ONNX file.
    own_python
        Whether it runs under MXNet's Python rather than this one.
    is_limit
        Whether it is no engine, but a part of the work that all of them have.
    """

    title: str
    ready: str
    applies: Callable[[Row], bool] = _everything
    needs: tuple[str, ...] = ()
    quick: bool = False
    asked_for: bool = False
    reads_onnx: bool = False
    own_python: bool = False
    is_limit: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed."""
        return [] if self.own_python else [name for name in self.needs if not importlib.util.find_spec(name)]

    def get_ready(self, setting: Setting) -> Callable[[], Any]:
        """Import the engine; in a worker only."""
        module, function = self.ready.split(":")
        make = getattr(importlib.import_module(f".{module}", __package__), function)
        answer: Callable[[], Any] = make(setting, **self.options)
        return answer


def _compiled(title: str, *, channels_last: bool = False, freezing: bool = False) -> Peer:
    """`torch.compile`; freezing makes constants of the weights, in inference."""
    applies = {
        (False, False): _everything,
        (True, False): _images,
        (False, True): _inference,
        (True, True): _images_in_inference,
    }[channels_last, freezing]
    options = {"channels_last": channels_last, "freezing": freezing}
    return Peer(title, "peers_compiled:ready", applies, needs=("torch",), options=options)


_BFLOAT16 = {"low_precision": "bfloat16"}

PEERS: dict[str, Peer] = {
    "rebind": Peer("rebind", "peers_module:rebind", needs=("rebind", "torch"), quick=True),
    "rebind-inductor": Peer(
        "rebind, inductor", "peers_module:rebind", needs=("rebind", "torch"), options={"backend": "inductor"}
    ),
    "rebind-inductor-fit": Peer(
        "rebind, inductor, in fit", "peers_module:rebind_in_fit", _training, needs=("rebind", "torch")
    ),
    "rebind-openvino": Peer(
        "rebind, OpenVINO", "peers_module:rebind", _inference, ("rebind", "torch", "openvino"),
        options={"backend": "openvino"},
    ),
    "torch": Peer("PyTorch eager", "peers_torch:ready", needs=("torch",), quick=True),
    "torch-channels-last": Peer(
        "eager, channels_last", "peers_torch:ready", _images, needs=("torch",), options={"channels_last": True}
    ),
    "torch-compile": _compiled("compile"),
    "torch-compile-channels-last": _compiled("compile, channels_last", channels_last=True),
    "torch-freezing": _compiled("compile, freezing", freezing=True),
    "torch-freezing-channels-last": _compiled(
        "compile, freezing, channels_last", channels_last=True, freezing=True
    ),
    "jax": Peer("JAX", "peers_jax:ready", needs=("jax", "jaxlib"), quick=True),
    "onnxruntime": Peer(
        "onnxruntime", "peers_onnx:onnxruntime", _inference, ("onnxruntime", "onnx", "onnxscript"), quick=True,
        reads_onnx=True,
    ),
    "openvino": Peer(
        "OpenVINO", "peers_onnx:openvino", _inference, ("openvino", "onnx", "onnxscript"), quick=True,
        reads_onnx=True,
    ),
    "mxnet": Peer("MXNet", "peers_module:mxnet", needs=("mxnet",), quick=True, own_python=True),
    "convolutions": Peer(
        "its convolutions alone", "peers_convolutions:ready", _images_in_inference, ("rebind", "torch"), is_limit=True
    ),
    "svrg": Peer("rebind, SVRG", "peers_module:svrg", _training, ("rebind", "torch"), asked_for=True),
    "rebind-cudagraphs": Peer(
        "rebind, CUDA graphs", "peers_module:rebind", needs=("rebind", "torch"), asked_for=True,
        options={"backend": "cudagraphs"},
    ),
    "torch-compile-cudagraphs": Peer(
        "compile, CUDA graphs", "peers_compiled:ready", needs=("torch",), asked_for=True,
        options={"mode": "reduce-overhead"},
    ),
    "rebind-bfloat16": Peer(
        "rebind, bfloat16", "peers_module:rebind", needs=("rebind", "torch"), asked_for=True,
        options=_BFLOAT16,
    ),
    "rebind-cudagraphs-bfloat16": Peer(
        "rebind, CUDA graphs, bfloat16", "peers_module:rebind", needs=("rebind", "torch"), asked_for=True,
        options={"backend": "cudagraphs", **_BFLOAT16},
    ),
    "rebind-inductor-bfloat16": Peer(
        "rebind, inductor, bfloat16", "peers_module:rebind", needs=("rebind", "torch"), asked_for=True,
        options={"backend": "inductor", **_BFLOAT16},
    ),
    "rebind-inductor-fit-bfloat16": Peer(
        "rebind, inductor, in fit, bfloat16", "peers_module:rebind_in_fit", _training, ("rebind", "torch"),
        asked_for=True, options=_BFLOAT16,
    ),
    "torch-bfloat16": Peer(
        "eager, bfloat16", "peers_torch:ready", needs=("torch",), asked_for=True, options={"bfloat16": True}
    ),
    "torch-channels-last-bfloat16": Peer(
        "eager, channels_last, bfloat16", "peers_torch:ready", _images, needs=("torch",), asked_for=True,
        options={"channels_last": True, "bfloat16": True},
    ),
    "torch-compile-bfloat16": Peer(
        "compile, bfloat16", "peers_compiled:ready", needs=("torch",), asked_for=True, options={"bfloat16": True}
    ),
    "torch-compile-channels-last-bfloat16": Peer(
        "compile, channels_last, bfloat16", "peers_compiled:ready", _images, needs=("torch",), asked_for=True,
        options={"channels_last": True, "bfloat16": True},
    ),
}  # fmt: skip
