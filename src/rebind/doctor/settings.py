"""Settings and files that change what a program does without a word."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping

from ..config import why_without_effect
from .findings import Finding

__all__ = ["hiding_files", "loaded_libraries", "openmps", "variables"]

#: The libraries that make threads for OpenMP, each for itself.
_OPENMP = re.compile(r"lib(gomp|iomp5|omp)\b")
#: Modules that a program of this field imports, beside those of Python itself.
_MODULES = frozenset(
    {"cv2", "matplotlib", "mxnet", "numpy", "onnx", "onnxruntime", "rebind", "scipy", "torch"}
)


def variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the variables that are set for MXNet and change nothing here."""
    for name in sorted(environment):
        if reason := why_without_effect(name):
            yield Finding(reason.removesuffix("?"), f"unset {name}")


def loaded_libraries() -> set[str]:
    """Return the paths of the libraries that this process has loaded; none where the system does not say."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            return {line.split(None, 5)[-1].strip() for line in file if ".so" in line}
    except OSError:
        return set()


def openmps(libraries: Collection[str], environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield that several libraries make threads for OpenMP, or that a setting hides it.

    >>> [finding.what for finding in openmps({"/a/libgomp.so.1", "/b/libiomp5.so"}, {})]
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


def hiding_files(names: Collection[str]) -> Iterator[Finding]:
    """Yield the files of a folder, by their names, that hide modules from the programs in it.

    >>> [finding.what for finding in hiding_files(["train.py", "queue.py", "torch"])]
    ['queue.py in this folder hides the module queue from the programs in it']
    """
    for name in sorted(names):
        module = name.removesuffix(".py")
        if module != name and (module in sys.stdlib_module_names or module in _MODULES):
            yield Finding(
                f"{name} in this folder hides the module {module} from the programs in it", "rename it"
            )
