"""What is installed here: the versions of packages, and what a report of a fault needs besides."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Mapping

import numpy as np
import torch

from .._version import __version__
from .machine import usable_cores

__all__ = ["EXTRAS", "show_versions", "version_numbers", "version_of", "versions"]

#: What each extra installs, by the packages' names.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "image": ("opencv-python-headless",),
    "viz": ("matplotlib",),
    "text": ("pysimdjson",),
    "onnx": ("onnx", "onnx-ir", "onnxruntime"),
    "safetensors": ("safetensors",),
    "openvino": ("openvino",),
    "executorch": ("executorch",),
    "litert": ("litert-torch",),
    "coreml": ("coremltools",),
    "coreai": ("coreai-torch",),
    "tensorboard": ("tensorboard",),
}


def versions() -> dict[str, str]:
    """Return what is installed here, by what it is.

    >>> list(versions())[:3]
    ['rebind', 'Python', 'PyTorch']
    """
    installed = {name: version_of(name) for names in EXTRAS.values() for name in names}
    extras = [
        f"{extra} ({', '.join(f'{name} {installed[name]}' for name in names)})"
        for extra, names in EXTRAS.items()
        if all(installed[name] for name in names)
    ]
    return {
        "rebind": __version__,
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "PyTorch": f"{torch.__version__}{f', CUDA {torch.version.cuda}' if torch.version.cuda else ''}",
        "NumPy": np.__version__,
        "GPUs": ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())) or "none",
        "threads": f"{torch.get_num_threads()} of PyTorch's on {usable_cores()} cores",
        "extras": ", ".join(extras) or "none",
    }


def show_versions() -> None:
    """Print what is installed here: for a report of a fault.

    >>> show_versions()
    rebind:   ...
    """
    found = versions()
    width = max(map(len, found)) + 1
    for name, value in found.items():
        print(f"{name + ':':{width}} {value}")


def version_of(name: str) -> str | None:
    """Return the version of an installed package; None if it is not there."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version, two at most.

    >>> version_numbers("2.13.0+cpu"), version_numbers("2.11")
    ((2, 13), (2, 11))
    """
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
