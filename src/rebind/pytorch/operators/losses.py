"""Losses as what they give in inference; labels are not read."""

from __future__ import annotations

from ..node_writer import NodeWriter, Value
from ..translations import translation

__all__ = ["first_input", "identity", "logistic", "softmax_output", "stop_gradient"]


@translation("SoftmaxOutput")
def softmax_output(writer: NodeWriter, data: Value, label: Value) -> str | None:
    """Softmax over the classes."""
    p, rank = writer.params, writer.rank()
    if p.multi_output or rank == 2:
        return f"torch.softmax({data}, 1)"
    if p.preserve_shape:
        return f"torch.softmax({data}, -1)"
    return f"torch.softmax({data}.flatten(1), 1).view_as({data})"


@translation("LogisticRegressionOutput")
def logistic(writer: NodeWriter, data: Value, label: Value) -> str:
    """Apply the sigmoid."""
    return f"torch.sigmoid({data})"


@translation("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput")
def first_input(writer: NodeWriter, data: Value, label: Value) -> str:
    """Return the data."""
    return f"{data}"


@translation("MakeLoss", "make_loss", "_copy")
def identity(writer: NodeWriter, data: Value, *others: Value) -> str:
    """Return the data."""
    return f"{data}"


@translation("BlockGrad")
def stop_gradient(writer: NodeWriter, data: Value) -> str:
    """Let no gradient pass."""
    return f"{data}.detach()"
