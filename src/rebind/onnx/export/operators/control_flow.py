"""Loops and branches: Scan, Loop and If, whose bodies are graphs that see the values around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir
import torch

from ....graph.control_flow import Body, bodies_of
from ..body_writer import BodyWriter
from ..node_writer import NodeWriter
from ..translations import translation

__all__ = ["cond", "foreach", "while_loop"]


@translation("_foreach")
def foreach(writer: NodeWriter, *data: ir.Value) -> Sequence[ir.Value]:
    """Write a Scan over the slices of the data."""
    (body,) = _bodies(writer)
    carried, stacked = _carried(body), _stacked(body)
    scanned = [index for index, sliced in body.sources if sliced]
    inner = BodyWriter(writer, "body")
    values = _states(writer, inner, carried)
    for index in scanned:
        shape = writer.shape(index)[1:]
        piece = inner.input("slice", writer.dtype(index), shape)
        values[index] = piece if shape else inner.unsqueeze(piece, [0])  # a number has an axis in MXNet
    outputs = _apply(writer, inner, body, {**dict(enumerate(data)), **values})
    found = writer.op_of_many(
        "Scan",
        len(carried) + len(stacked),
        *[data[index] for index in carried.values()],
        *[data[index] for index in scanned],
        body=inner.finish([outputs[i] for i in (*carried, *stacked)]),
        num_scan_inputs=len(scanned),
    )
    return _in_order(body, (*carried, *stacked), found)


@translation("_while_loop")
def while_loop(writer: NodeWriter, *data: ir.Value) -> Sequence[ir.Value]:
    """Write a Loop; what its steps give is filled up with zeros to the largest number of steps."""
    condition, body = _bodies(writer)
    carried, stacked = _carried(body), _stacked(body)
    around = dict(enumerate(data))
    inner = BodyWriter(writer, "body")
    inner.input("step", torch.int64, ())
    inner.input("condition", torch.bool, ())
    values = _states(writer, inner, carried)
    outputs = _apply(writer, inner, body, {**around, **values})
    after = {index: outputs[i] for i, index in carried.items()}
    holds = _truth(inner, *_apply(writer, inner, condition, {**around, **after}))
    most = writer.params.max_iterations
    found = writer.op_of_many(
        "Loop",
        len(carried) + len(stacked),
        *(writer.ints(most), _condition(writer, condition, around)),
        *[data[index] for index in carried.values()],
        body=inner.finish([holds, *(outputs[i] for i in (*carried, *stacked))]),
    )
    states, steps = found[: len(carried)], found[len(carried) :]
    ranks = [len(writer.output_shape(body.outputs[i][0])) for i in stacked]
    filled = [_filled(writer, value, most, rank) for value, rank in zip(steps, ranks, strict=True)]
    return _in_order(body, (*carried, *stacked), [*states, *filled])


@translation("_cond")
def cond(writer: NodeWriter, *data: ir.Value) -> Sequence[ir.Value]:
    """Write an If."""
    condition, *branches = _bodies(writer)
    around = dict(enumerate(data))
    graphs = []
    for branch, name in zip(branches, ("then", "else"), strict=True):
        inner = BodyWriter(writer, name)
        graphs.append(inner.finish(_apply(writer, inner, branch, around)))
    holds = _condition(writer, condition, around)
    return writer.op_of_many(
        "If", writer.params.num_outputs, holds, then_branch=graphs[0], else_branch=graphs[1]
    )


def _bodies(writer: NodeWriter) -> list[Body]:
    operator = writer.node.operator
    return bodies_of(operator.name, writer.params, operator.subgraphs)


def _carried(body: Body) -> dict[int, int]:
    """Return which outputs of a body are inputs of the next step, by their number."""
    return {i: back for i, (_, _, back) in enumerate(body.outputs) if back is not None}


def _stacked(body: Body) -> list[int]:
    return [i for i, (_, stacked, _) in enumerate(body.outputs) if stacked]


def _states(writer: NodeWriter, inner: BodyWriter, carried: Mapping[int, int]) -> dict[int, ir.Value]:
    """Add an input of the body for each state; return them by the number of the node's input."""
    return {
        index: inner.input("state", writer.dtype(index), writer.shape(index)) for index in carried.values()
    }


def _apply(
    writer: NodeWriter, inner: BodyWriter, body: Body, values: Mapping[int, ir.Value]
) -> list[ir.Value]:
    """Write a body, and return its outputs; `values` are those of the node's inputs."""
    shapes = [
        (writer.shape(index)[1:] or (1,)) if sliced else writer.shape(index) for index, sliced in body.sources
    ]
    numbers = {
        variable.name: known
        for variable, (index, sliced) in zip(body.graph.variables, body.sources, strict=True)
        if not sliced
        and index not in _carried(body).values()
        and (known := writer.parameter(index)) is not None
    }
    return inner.apply(
        body.graph,
        [values[index] for index, _ in body.sources],
        shapes,
        [writer.dtype(index) for index, _ in body.sources],
        numbers,
    )


def _condition(writer: NodeWriter, condition: Body, values: Mapping[int, ir.Value]) -> ir.Value:
    """Write a condition in front of the node."""
    before = BodyWriter(writer, "condition")
    before.graph.tape = writer.graph.tape
    return _truth(before, *_apply(writer, before, condition, values))


def _truth(writer: BodyWriter, number: ir.Value) -> ir.Value:
    """Return whether an array of one number is not 0, without axes."""
    return writer.reshape(writer.cast(number, torch.bool), [])


def _filled(writer: NodeWriter, value: ir.Value, most: int, rank: int) -> ir.Value:
    """Return an array with zeros after its slices, `most` in all."""
    missing = writer.op("Sub", writer.ints([most]), writer.size_of(value, 0))
    pads = writer.concat(writer.ints([0] * rank), missing, writer.ints([0] * (rank - 1)))
    return writer.op("Pad", value, pads)


def _in_order(body: Body, which: Sequence[int], found: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the outputs of the node; `found` are those of the body's outputs `which`."""
    by_number = {body.outputs[i][0]: value for i, value in zip(which, found, strict=True)}
    return [by_number[number] for number in sorted(by_number)]
