"""Arguments whose values rebind takes otherwise than MXNet: a part of docs/differences.md that a program shows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ROWS", "Row"]


@dataclass(frozen=True)
class Row:
    """One difference.

    Parameters
    ----------
    path
        The function, below `mxnet`; other paths of the same function count too.
    argument, values
        The argument, and the values with which it holds; no argument: at each call.
    sentence
        What is different.
    stops
        Whether the call is an error.
    """

    path: str
    sentence: str
    argument: str | None = None
    values: tuple[object, ...] = ()
    stops: bool = False


_CORRECTED = "MXNet's gradient is wrong and rebind's is right, so that the network trains differently"

ROWS: tuple[Row, ...] = (
    Row(
        "random.seed",
        "random numbers come from PyTorch's generators: the same in each run, but not MXNet's",
    ),
    Row("sym.LeakyReLU", f"selu: {_CORRECTED}", "act_type", ("selu",)),
    Row("nd.LeakyReLU", f"selu: {_CORRECTED}", "act_type", ("selu",)),
    Row(
        "optimizer.Nadam",
        "the schedule of momentum advances once for each update; MXNet's once for each weight too, which is wrong",
    ),
    Row(
        "optimizer.create",
        "the schedule of momentum advances once for each update; MXNet's once for each weight too, which is wrong",
        "name",
        ("nadam", "Nadam"),
    ),
    Row(
        "kvstore.create",
        "sums over the workers of the job by PyTorch's process groups; that package is not needed",
        "name",
        ("horovod", "byteps"),
    ),
    Row(
        "contrib.svrg_optimization.SVRGModule",
        "each snapshot begins its full gradient at zero; MXNet adds it to the one before, which is too large",
    ),
)
