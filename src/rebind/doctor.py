"""``rebind doctor`` and `mx.show_versions`: what is installed here, and the usual mistakes with it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from ._version import __version__

__all__ = ["Finding", "findings", "show_versions", "versions"]

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

#: The forms in which OpenCV is installed; all have the module `cv2`.
_OPENCVS = (
    "opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless",
)  # fmt: skip
#: The libraries that make threads for OpenMP, each for itself.
_OPENMP = re.compile(r"lib(gomp|iomp5|omp)\b")


@dataclass(frozen=True)
class Finding:
    """A mistake in what is installed or set.

    Attributes
    ----------
    what
        The mistake.
    mend
        What to do.
    """

    what: str
    mend: str


def versions() -> dict[str, str]:
    """Return what is installed here, by what it is.

    >>> list(versions())[:3]
    ['rebind', 'Python', 'PyTorch']
    """
    installed = {name: _version(name) for names in EXTRAS.values() for name in names}
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
        "threads": f"{torch.get_num_threads()} of PyTorch's on {_usable_cores()} cores",
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


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _usable_cores() -> int:
    """Return how many cores this process may use: containers and schedulers leave it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def findings() -> list[Finding]:
    """Return the usual mistakes that are made here.

    >>> all(finding.what and finding.mend for finding in findings())
    True
    """
    installed = {name for name in (*_OPENCVS, "mxnet") if _version(name)}
    return [
        *_opencvs(installed),
        *_mxnet_beside(importlib.util.find_spec("mxnet") is not None and "mxnet" in installed),
        *_threads(torch.get_num_threads(), _usable_cores()),
        *_openmps(_loaded_libraries(), os.environ),
        *_numpy(),
        *_gpu(os.path.exists("/proc/driver/nvidia/version"), torch.version.cuda, torch.cuda.is_available()),
        *_torch_range(
            torch.__version__, importlib.metadata.requires("rebind") or [] if _version("rebind") else []
        ),
    ]


def _opencvs(installed: Collection[str]) -> Iterator[Finding]:
    """Yield that OpenCV is there twice.

    >>> [finding.mend for finding in _opencvs({"opencv-python", "opencv-python-headless"})]
    ['pip uninstall opencv-python opencv-python-headless, then pip install opencv-python-headless']
    """
    found = [name for name in _OPENCVS if name in installed]
    if len(found) > 1:
        yield Finding(
            f"{' and '.join(found)} are both installed, and overwrite each other's module cv2",
            f"pip uninstall {' '.join(found)}, then pip install opencv-python-headless",
        )


def _mxnet_beside(installed: bool) -> Iterator[Finding]:
    if installed:
        yield Finding(
            "mxnet is installed too: import mxnet gives that one",
            "start programs with rebind run, or write import rebind as mx",
        )


def _threads(threads: int, cores: int) -> Iterator[Finding]:
    """Yield that there are more threads than cores, which wait for each other.

    >>> list(_threads(4, 4)), [finding.mend for finding in _threads(8, 2)]
    ([], ['set OMP_NUM_THREADS=2'])
    """
    if threads > cores:
        yield Finding(
            f"PyTorch computes with {threads} threads, and this process may use {cores} cores",
            f"set OMP_NUM_THREADS={cores}",
        )


def _loaded_libraries() -> set[str]:
    """Return the paths of the libraries that this process has loaded; none where the system does not say."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            return {line.split(None, 5)[-1].strip() for line in file if ".so" in line}
    except OSError:
        return set()


def _openmps(libraries: Collection[str], environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield that several libraries make threads for OpenMP, or that a setting hides it.

    >>> [finding.what for finding in _openmps({"/a/libgomp.so.1", "/b/libiomp5.so"}, {})]
    ['2 libraries of OpenMP are loaded, each with threads of its own: /a/libgomp.so.1, /b/libiomp5.so']
    """
    found = sorted(path for path in libraries if _OPENMP.search(os.path.basename(path)))
    kinds = {match[1] for path in found if (match := _OPENMP.search(os.path.basename(path)))}
    if len(kinds) > 1:
        yield Finding(
            f"{len(kinds)} libraries of OpenMP are loaded, each with threads of its own: {', '.join(found)}",
            "install PyTorch and NumPy from one source, both with pip or both with conda",
        )
    if environment.get("KMP_DUPLICATE_LIB_OK", "").upper() in ("TRUE", "1"):
        yield Finding(
            "KMP_DUPLICATE_LIB_OK hides that two libraries of OpenMP are loaded, which may give wrong numbers",
            "unset it, and install PyTorch and NumPy from one source",
        )


def _numpy() -> Iterator[Finding]:
    try:
        torch.from_numpy(np.zeros(1))
    except RuntimeError:
        yield Finding(
            f"this PyTorch does not work with NumPy {np.__version__}", "pip install --upgrade torch numpy"
        )


def _gpu(driver: bool, cuda: str | None, available: bool) -> Iterator[Finding]:
    """Yield that there is a GPU which PyTorch does not use.

    >>> [finding.what for finding in _gpu(driver=True, cuda=None, available=False)]
    ['there is a GPU here, and this PyTorch is built for processors only']
    """
    if driver and cuda is None:
        yield Finding(
            "there is a GPU here, and this PyTorch is built for processors only",
            "install a build for CUDA: pytorch.org says which",
        )
    elif driver and not available:
        yield Finding(
            f"there is a GPU here, and PyTorch's CUDA {cuda} cannot use it",
            "update the driver (nvidia-smi says which CUDA it takes), or install PyTorch for an older CUDA",
        )


def _torch_range(version: str, requirements: Collection[str]) -> Iterator[Finding]:
    """Yield that PyTorch is not of the versions that this was tested with.

    >>> [finding.what for finding in _torch_range("1.13.0", ["torch<2.16,>=2.11"])]
    ['PyTorch 1.13.0 is none of the versions that rebind is tested with: <2.16,>=2.11']
    """
    found = version_of(version)
    for requirement in requirements:
        if not (match := re.fullmatch(r"torch\s*\(?([<>=.,\d\s]+)\)?", requirement)):
            continue
        for operator, bound in re.findall(r"(>=|<)\s*([\d.]+)", match[1]):
            if (found >= version_of(bound)) != (operator == ">="):
                yield Finding(
                    f"PyTorch {version} is none of the versions that rebind is tested with: {match[1]}",
                    f"pip install 'torch{match[1]}'",
                )
                return


def version_of(text: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version.

    >>> version_of("2.13.0+cpu"), version_of("2.11")
    ((2, 13), (2, 11))
    """
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])
