"""Products of matrices, dense layers."""

from __future__ import annotations

from torch import fx

from ....symbol import Symbol
from ..node_reader import NodeReader
from ..readings import reading
from ..sizes import is_free
from ..values import Weight

__all__ = ["product"]

_TRANSPOSING = {"aten.permute.default", "aten.t.default", "aten.transpose.int"}


@reading("linear")
def linear(reader: NodeReader) -> Symbol:
    """A dense layer along the last axis."""
    return _dense(reader, reader.input(), reader.rank(), reader.input("weight"), reader.optional("bias"),
                  reader.shape("weight")[0])  # fmt: skip


def _dense(
    reader: NodeReader, data: Symbol, rank: int, weight: Symbol, bias: Symbol | None, units: int
) -> Symbol:
    return reader.op(
        "FullyConnected", data, weight, bias, num_hidden=units, no_bias=bias is None or None,
        flatten=None if rank == 2 else False,
    )  # fmt: skip


def _transposed(reader: NodeReader, name: str) -> fx.Node | None:
    """Return the weight of a dense layer that is written as a product with a transposed matrix."""
    node = reader.source(name)
    if str(node.target) not in _TRANSPOSING:
        return None
    source = node.all_input_nodes[0]
    is_weight = isinstance(reader.graph.value(source), Weight) and source.meta["val"].ndim == 2
    return source if is_weight else None


@reading("addmm")
def dense_layer(reader: NodeReader) -> Symbol:
    """A sum with a product; with a transposed weight and one row it is a dense layer."""
    factors = float(reader.argument("alpha", 1)), float(reader.argument("beta", 1))
    weight = _transposed(reader, "mat2")
    if weight is not None and factors == (1.0, 1.0) and reader.rank("input") == 1:
        bias, units = reader.input("input"), weight.meta["val"].shape[0]
        return _dense(reader, reader.input("mat1"), 2, reader.graph.symbol(weight), bias, units)
    found = reader.scaled(reader.op("dot", reader.input("mat1"), reader.input("mat2")), factors[0])
    return reader.op("broadcast_add", found, reader.scaled(reader.input("input"), factors[1]))


@reading("baddbmm")
def sum_with_batch(reader: NodeReader) -> Symbol:
    """A sum with products of a batch of matrices."""
    found = reader.op("batch_dot", reader.input("batch1"), reader.input("batch2"))
    found = reader.scaled(found, float(reader.argument("alpha", 1)))
    return reader.op("broadcast_add", found, reader.scaled(reader.input(), float(reader.argument("beta", 1))))


@reading("mm", "bmm", "matmul", "mv", "dot")
def matmul(reader: NodeReader) -> Symbol:
    """A product of matrices, of batches of them, or of vectors."""
    first, second = reader.names[:2]
    weight = _transposed(reader, second)
    if weight is not None and reader.rank(first) >= 2:
        units = weight.meta["val"].shape[0]
        return _dense(
            reader, reader.input(first), reader.rank(first), reader.graph.symbol(weight), None, units
        )
    return product(
        reader, reader.input(first), reader.input(second), reader.shape(first), reader.shape(second)
    )


def product(
    reader: NodeReader, first: Symbol, second: Symbol, shape: list, other: list, transposed: bool = False,
    factor: float = 1.0,
) -> Symbol:  # fmt: skip
    """Return a product of matrices times a number; the second ones may be transposed."""
    rank = len(shape)
    if len(other) == rank and shape[:-2] == other[:-2]:
        if rank >= 4 or (rank == 3 and factor != 1):
            return reader.op(
                "_linalg_gemm2",
                first,
                second,
                transpose_b=transposed or None,
                alpha=factor if factor != 1 else None,
            )
        if rank in (2, 3):
            kind = "dot" if rank == 2 else "batch_dot"
            found = reader.op(kind, first, second, transpose_b=transposed or None)
            return reader.scaled(found, factor)
    if transposed:
        second = reader.op("SwapAxis", second, dim1=len(other) - 2, dim2=len(other) - 1)
    return reader.scaled(reader.op("_onnx_matmul", first, second), factor)


@reading("einsum")
def einsum(reader: NodeReader) -> Symbol:
    """Products summed over axes that letters name."""
    return reader.op("_onnx_einsum", *reader.inputs(), equation=reader.argument("equation").replace(" ", ""))


@reading("outer")
def outer(reader: NodeReader) -> Symbol:
    """Products of all pairs of elements of two vectors."""
    first = reader.op("expand_dims", reader.input(), axis=1)
    return reader.op("broadcast_mul", first, reader.op("expand_dims", reader.input("vec2"), axis=0))


@reading("embedding")
def embedding(reader: NodeReader) -> Symbol:
    """Rows of a weight; the row of a padding index is not trained."""
    node = reader.source("indices")
    value = reader.graph.value(node)
    # MXNet's layer takes indices of any type: those of an input need no conversion.
    indices = value if isinstance(value, Symbol) else reader.input("indices")
    rows, columns = reader.shape("weight")
    found = reader.op("Embedding", indices, reader.input("weight"), input_dim=rows, output_dim=columns)
    padding = reader.argument("padding_idx", -1)
    if padding < 0 or is_free(padding):
        return found
    mask = reader.op("expand_dims", reader.op("_equal_scalar", indices, scalar=float(padding)), axis=-1)
    mask = reader.op("broadcast_like", reader.cast(mask, "float32"), found)
    return reader.op("where", mask, reader.op("BlockGrad", found), found)
