"""What is said of an export: a table for each run, what was left out, and the versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from .._version import __version__
from ..shapes import Shape
from .comparison import Difference

__all__ = ["Check", "Report"]


@dataclass(frozen=True)
class Check:
    """The outputs of one run in both engines.

    Attributes
    ----------
    data
        What they ran on.
    outputs
        How far each output differs.
    """

    data: str
    outputs: tuple[Difference, ...]


@dataclass(frozen=True)
class Report:
    """What came of an export.

    Attributes
    ----------
    path
        The file.
    target
        Its kind.
    runtime
        What ran it; empty where nothing did.
    inputs
        The shapes of inputs, 0 for free sizes.
    left_out
        Sentences on what belongs to training and was left out.
    checks
        The runs.
    limit
        The greatest relative difference that was allowed.
    notes
        Sentences on the model's files.
    seconds
        How long all of it took.

    Examples
    --------
    >>> report = Report("net.onnx", "onnx", "onnxruntime", {"data": (0, 5)}, (), (), 1e-4)
    >>> print(report.markdown().splitlines()[0])
    # net.onnx
    """

    path: str
    target: str
    runtime: str
    inputs: Mapping[str, Shape]
    left_out: tuple[str, ...]
    checks: tuple[Check, ...]
    limit: float
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def largest(self) -> float:
        """The greatest relative difference of all outputs and runs.

        >>> Report("net.onnx", "onnx", "", {}, (), (), 1e-4).largest
        0.0
        """
        return max((each.relative for check in self.checks for each in check.outputs), default=0.0)

    def markdown(self) -> str:
        """Return the report as a page of Markdown."""
        lines = [f"# {self.path.replace(chr(92), '/').rpartition('/')[2]}", ""]
        versions = f"rebind {__version__}, PyTorch {torch.__version__}, Python {platform.python_version()}"
        lines += [f"Written as {self.target} by {versions}, in {self.seconds:.1f} s.", ""]
        lines += [f"- {text}" for text in (*self.notes, *self.left_out)] + [""] * bool(
            self.notes or self.left_out
        )
        if self.inputs:
            lines += ["| input | shape |", "| --- | --- |"]
            lines += [f"| {name} | {_shown(shape)} |" for name, shape in self.inputs.items()] + [""]
        if not self.checks:
            lines += ["It was not run: what runs it is not on this system, or no check was wanted.", ""]
        for check in self.checks:
            lines += [f"Compared with {self.runtime} on {check.data}:", "", *_table(check), ""]
        return "\n".join(lines)


def _shown(shape: Shape) -> str:
    """Return a shape with a word for free sizes.

    >>> _shown((0, 3, 224, 224))
    'any × 3 × 224 × 224'
    """
    return " × ".join(str(size or "any") for size in shape) or "a number"


def _table(check: Check) -> list[str]:
    head = [
        "| output | shape | greatest error | relative to the largest number | cosine |",
        "| --- | --- | --- | --- | --- |",
    ]
    return head + [
        f"| {each.name} | {_shown(each.shape)} | {each.absolute:.3g} | {each.relative:.3g} | {each.cosine:.9f} |"
        for each in check.outputs
    ]
