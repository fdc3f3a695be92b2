"""Arrays that no input gives."""

from __future__ import annotations

from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["filled"]


@translation("_zeros", "_ones")
def filled(writer: NodeWriter) -> str | None:
    """Fill an array; a size that is open, such as that of the batch, is that of the input that has it."""
    sizes, inputs = writer.sizes(), writer.network.inputs
    if sizes is None or not inputs:
        return None
    name, dtype = writer.node.operator.name.strip("_"), writer.output_dtype()
    return f"torch.{name}({', '.join(sizes)}, dtype={dtype}, device={next(iter(inputs.values()))}.device)"
