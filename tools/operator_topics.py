"""The topics of the index of operators: which modules of ``rebind.ops`` belong to each."""

from __future__ import annotations

from collections.abc import Sequence

from rebind.ops import find
from rebind.ops._tables import BINARY, SCALAR, UNARY

__all__ = ["topics"]

#: Modules below ``rebind.ops``, or packages with all that is in them; the longest name that fits counts.
_TOPICS = {
    "Layers": ("nn",),
    "Losses": ("loss", "regularization", "nn.ctc"),
    "Functions of one array": ("unary", "elementwise"),
    "Sums, means, norms": ("reduce",),
    "Products and linear algebra": ("matmul", "linalg"),
    "Shapes and axes": ("reshape", "axes", "joining", "slicing", "repetition", "patches", "storage"),
    "Indices and choices": ("indexing",),
    "Sorting and counting": ("ordering", "histogram"),
    "Sequences and attention": ("sequence", "nn.recurrent", "contrib.attention", "contrib.hawkes"),
    "New arrays": ("creation",),
    "Random numbers": ("distributions", "sampler", "sampling", "random_frontend"),
    "Probability densities": ("pdf",),
    "Pictures": ("image", "opencv"),
    "Resampling": ("spatial", "upsampling", "contrib.resize"),
    "Detection and regions": (
        "regions", "contrib.boxes", "contrib.multibox", "contrib.proposal", "contrib.suppression",
        "contrib.deformable",
    ),
    "Sparse arrays": ("sparse",),
    "Updates of optimizers": ("update", "reset"),
    "Networks in 8 bits": ("quantization",),
    "Loops, branches, operators of your own": ("control_flow", "custom"),
    "Contributed": ("contrib",),
}  # fmt: skip
_ARITHMETIC = "Arithmetic and comparisons"


def topics(operators: Sequence[str]) -> dict[str, list[str]]:
    """Return the operators of each topic, sorted.

    >>> topics(["relu", "RNN", "elemwise_add", "FullyConnected"])
    {'Layers': ['FullyConnected'], 'Arithmetic and comparisons': ['elemwise_add'], 'Functions of one array': ['relu'], \
'Sequences and attention': ['RNN']}
    """
    functions = {row.op.name for row in UNARY}
    arithmetic = {row.op.name for row in (*BINARY, *SCALAR)}
    found: dict[str, list[str]] = {"Layers": [], "Losses": [], _ARITHMETIC: []} | {
        topic: [] for topic in _TOPICS
    }
    for name in sorted(operators, key=lambda name: (name.lstrip("_").lower(), name)):
        if name in arithmetic:
            found[_ARITHMETIC].append(name)
        else:
            found["Functions of one array" if name in functions else _topic(name)].append(name)
    return {topic: names for topic, names in found.items() if names}


def _topic(operator: str) -> str:
    module = find(operator).kernels.function.__module__.removeprefix("rebind.ops.")
    fitting = [
        (len(prefix), topic)
        for topic, prefixes in _TOPICS.items()
        for prefix in prefixes
        if f"{module}.".startswith(f"{prefix}.")
    ]
    return max(fitting)[1]
