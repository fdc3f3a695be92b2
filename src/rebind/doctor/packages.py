"""Packages that do not go together."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import torch

from .findings import Finding
from .installed import version_numbers, version_of

__all__ = [
    "TWINS",
    "is_installed",
    "mxnet_beside",
    "needs",
    "numpy_of_torch",
    "own_requirements",
    "requirements",
    "torch_range",
    "twins",
]

#: Packages with the same module, by its name; that which is to be installed comes first.
TWINS: Mapping[str, tuple[str, ...]] = {
    "cv2": (
        "opencv-python-headless", "opencv-python", "opencv-contrib-python", "opencv-contrib-python-headless",
    ),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml"),
}  # fmt: skip

#: The first NumPy with which MXNet 1.9.1 cannot be imported: it uses ``np.bool``.
_TOO_NEW_FOR_MXNET = (1, 24)

_NEED = re.compile(
    r"(numpy|torch)\s*\(?((?:\s*,?\s*(?:~=|==|!=|<=|>=|<|>)\s*[\w.*+]+)+)\s*\)?", re.IGNORECASE
)


def twins(installed: Collection[str]) -> Iterator[Finding]:
    """Yield that a module is there twice.

    >>> [finding.mend for finding in twins({"opencv-python", "opencv-python-headless"})]
    ['pip uninstall opencv-python opencv-python-headless, then pip install opencv-python-headless']
    """
    for module, names in TWINS.items():
        found = sorted(name for name in names if name in installed)
        if len(found) > 1:
            yield Finding(
                f"{' and '.join(found)} are both installed, and overwrite each other's module {module}",
                f"pip uninstall {' '.join(found)}, then pip install {names[0]}",
            )


def mxnet_beside(installed: bool, numpy: str) -> Iterator[Finding]:
    """Yield that MXNet itself is there too.

    >>> [finding.what for finding in mxnet_beside(True, "2.4.6")]
    ['mxnet is installed too: import mxnet gives that one, which fails with NumPy 2.4.6: it needs one below 1.24']
    """
    if installed:
        fails = version_numbers(numpy) >= _TOO_NEW_FOR_MXNET
        yield Finding(
            "mxnet is installed too: import mxnet gives that one"
            + (f", which fails with NumPy {numpy}: it needs one below 1.24" if fails else ""),
            "start programs with rebind run, or write import rebind as mx",
        )


def needs() -> Iterator[tuple[str, str]]:
    """Yield the installed packages with what each needs: ``("mxnet 1.9.1", "numpy (<2.0.0,>1.16.0)")``."""
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"]
        if name != "rebind":
            yield from ((f"{name} {package.version}", need) for need in package.requires or ())


def requirements(found: Iterable[tuple[str, str]], installed: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the packages that were built for another NumPy or PyTorch than is installed.

    What holds under a condition, such as an extra, is not looked at.

    >>> installed = {"numpy": "2.4.6", "torch": "2.13.0+cpu"}
    >>> list(requirements([("a 1.0", "numpy>=1.20"), ("b 1.0", "torch==2.13.0")], installed))
    []
    >>> [finding.what for finding in requirements([("c 1.0", "numpy (<2.0.0,>1.16.0)")], installed)]
    ['c 1.0 needs numpy<2.0.0,>1.16.0; 2.4.6 is installed']
    """
    for who, need in sorted(set(found)):
        if (match := _NEED.fullmatch(need.strip())) is None:
            continue
        name, bounds = match[1].lower(), match[2].replace(" ", "")
        if not all(_is_met(installed[name], bound) for bound in bounds.split(",")):
            package = who.partition(" ")[0]
            yield Finding(
                f"{who} needs {name}{bounds}; {installed[name]} is installed",
                f"pip install --upgrade {package}, or install it in an environment of its own",
            )


def _is_met(version: str, bound: str) -> bool:
    """Whether a version is within a bound, as far as its first two numbers tell.

    >>> [
    ...     _is_met("2.4.6", bound)
    ...     for bound in ("<2", "<3", ">=1.20", "~=1.26", "==2.4.*", "==2.3.0", "!=2.4.6")
    ... ]
    [False, True, True, False, True, False, True]
    """
    operator, text = bound.rstrip("0123456789.*+"), bound.lstrip("~=!<>")
    wanted = version_numbers(text)
    numbers = version_numbers(version)[: len(wanted)]
    match operator:
        case "==":
            return numbers == wanted
        case "~=":
            return numbers >= wanted and numbers[0] == wanted[0]
        case "<":
            return numbers < wanted
        case "<=":
            return numbers <= wanted
        case ">=" | ">":
            return numbers >= wanted
        case _:
            return True


def numpy_of_torch() -> Iterator[Finding]:
    """Yield that PyTorch does not take NumPy's arrays."""
    try:
        torch.from_numpy(np.zeros(1))
    except RuntimeError:
        yield Finding(
            f"this PyTorch does not work with NumPy {np.__version__}", "pip install --upgrade torch numpy"
        )


def torch_range(version: str, requirements: Collection[str]) -> Iterator[Finding]:
    """Yield that PyTorch is not of the versions that this was tested with.

    >>> [finding.what for finding in torch_range("1.13.0", ["torch<2.16,>=2.11"])]
    ['PyTorch 1.13.0 is none of the versions that rebind is tested with: <2.16,>=2.11']
    """
    for requirement in requirements:
        match = _NEED.fullmatch(requirement)
        if match is None or match[1] != "torch":
            continue
        if not all(_is_met(version, bound.strip()) for bound in match[2].split(",")):
            yield Finding(
                f"PyTorch {version} is none of the versions that rebind is tested with: {match[2]}",
                f"pip install 'torch{match[2]}'",
            )


def own_requirements() -> list[str]:
    """Return what this package needs, if it is installed."""
    return importlib.metadata.requires("rebind") or [] if version_of("rebind") else []


def is_installed(module: str, package: str) -> bool:
    """Return whether a module is there and its package installed; rebind under the name of mxnet is not."""
    return importlib.util.find_spec(module) is not None and version_of(package) is not None
