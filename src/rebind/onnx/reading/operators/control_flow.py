"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from ....symbol import Symbol, contrib
from ..node_reader import NodeReader
from ..readings import reading

__all__ = ["branch", "loop", "scan"]


@reading("If")
def branch(reader: NodeReader) -> list[Symbol]:
    """One of two graphs, by a condition that is not known before."""
    bodies = reader.body("then_branch"), reader.body("else_branch")
    condition = reader.cast(reader.input(0), "float32")
    found = contrib.cond(
        condition,
        lambda: reader.read_body(bodies[0], [], []),
        lambda: reader.read_body(bodies[1], [], []),
        name=reader.name,
    )
    return list(found)


def _unused(values: Sequence[ir.Value], outputs: Sequence[ir.Value]) -> list[int]:
    """Return which values a body does not use; MXNet's loops ask that it does."""
    return [i for i, value in enumerate(values) if not value.uses() and value not in outputs]


def _run_foreach(
    reader: NodeReader,
    slices: Sequence[Symbol],
    states: Sequence[Symbol],
    body: Any,
    unused: tuple[list[int], list[int]],
) -> tuple[list[Symbol], list[Symbol]]:
    """Return the stacked outputs and last states; slices and states that a body does not use are outputs too."""

    def step(data: list[Symbol], before: list[Symbol]) -> tuple[list[Symbol], list[Symbol]]:
        outputs, after = body(data, before)
        extra = [data[i] for i in unused[0]] + [before[i] for i in unused[1]]
        return [*outputs, *extra], after

    outputs, last = contrib.foreach(step, list(slices), list(states), name=reader.name)
    count = len(outputs) - len(unused[0]) - len(unused[1])
    return list(outputs)[:count], list(last)


@reading("Loop")
def loop(reader: NodeReader) -> list[Symbol]:
    """Repetition, as often as a number says or while a condition holds."""
    body = reader.body("body")
    start = reader.constant(1) if reader.has(1) else None
    always = (not reader.has(1) or (start is not None and bool(start.reshape(-1)[0]))) and _stays(body)
    if not reader.has(0):
        raise reader.refuse("the maximum number of iterations, input 0, must be given; it is missing")
    most = reader.ints(0, "the maximum number of iterations")[0]
    states = [reader.input(i) for i in range(2, len(reader))]
    if len(body.outputs) > 1 + len(states) and not always and _stays(body):
        reader.numbers(1, "the condition")
    if most < 1:
        raise reader.refuse(f"the maximum number of iterations must be at least 1; got {most}")
    return _counted(reader, body, most, states) if always else _conditional(reader, body, most, states)


def _stays(body: ir.Graph) -> bool:
    """Say whether a loop's condition, true at the start, stays so."""
    value = body.outputs[0]
    while (maker := value.producer()) is not None and maker.op_type == "Identity":
        source = maker.inputs[0]
        if source is None:
            return False
        value = source
    if value is body.inputs[1]:
        return True
    maker = value.producer()
    if maker is not None and maker.op_type == "Constant" and "value" in maker.attributes:
        return bool(maker.attributes["value"].value.numpy().all())
    return value.const_value is not None and bool(value.const_value.numpy().all())


def _counted(reader: NodeReader, body: ir.Graph, most: int, states: list[Symbol]) -> list[Symbol]:
    numbers = reader.op("_arange", start=0.0, stop=float(most), dtype="int64")
    numbers = reader.op("Reshape", numbers, shape=(-1, 1))

    shapes = [[], [], *[reader.shape(i) for i in range(2, len(reader))]]

    def step(data: list[Symbol], before: list[Symbol]) -> tuple[list[Symbol], list[Symbol]]:
        true = reader.op("_ones", shape=(1,), dtype="bool")
        found = reader.read_body(body, [data[0], true, *before], shapes)
        return found[1 + len(states) :], found[1 : 1 + len(states)]

    unused = _unused(body.inputs[:1], body.outputs), _unused(body.inputs[2:], body.outputs[1:])
    outputs, last = _run_foreach(reader, [numbers], states, step, unused)
    return [*last, *_stacked(reader, body.outputs[1 + len(states) :], outputs)]


def _stacked(reader: NodeReader, values: Sequence[ir.Value], outputs: Sequence[Symbol]) -> list[Symbol]:
    """Take from stacks of single numbers the axis that MXNet has and ONNX has not."""
    found = []
    for value, output in zip(values, outputs):
        shape = reader.graph.shape(value)
        if shape is None:
            raise reader.refuse(f"the number of axes of {value.name!r} must be known")
        found.append(output if shape else reader.op("Reshape", output, shape=(-1,)))
    return found


def _conditional(reader: NodeReader, body: ir.Graph, most: int, states: list[Symbol]) -> list[Symbol]:
    if len(body.outputs) > 1 + len(states):
        raise reader.refuse("the number of iterations must be constant, as the loop has stacked outputs")
    count = reader.op("_zeros", shape=(1,), dtype="int64")
    holds = reader.cast(reader.input(1), "float32") if reader.has(1) else reader.op("_ones", shape=(1,))

    shapes = [[], [], *[reader.shape(i) for i in range(2, len(reader))]]

    def step(number: Symbol, condition: Symbol, *before: Symbol) -> tuple[list[Symbol], list[Symbol]]:
        found = reader.read_body(body, [number, reader.cast(condition, "bool"), *before], shapes)
        following = reader.op("_plus_scalar", number, scalar=1.0)
        return [], [following, reader.cast(found[0], "float32"), *found[1:]]

    def goes_on(number: Symbol, condition: Symbol, *before: Symbol) -> Symbol:
        return reader.op("_copy", condition)

    if _unused(body.inputs[2:], body.outputs[1:]):
        raise reader.refuse("the body must use every variable that it is given, as MXNet's loops do")
    _, last = contrib.while_loop(
        goes_on, step, [count, holds, *states], max_iterations=most, name=reader.name
    )
    return list(last[2:])


@reading("Scan", since=9)
def scan(reader: NodeReader) -> list[Symbol]:
    """Steps over slices of arrays, whose outputs are stacked."""
    body, slices = reader.body("body"), reader.required("num_scan_inputs")
    count = len(reader) - slices
    states = [reader.input(i) for i in range(count)]
    axes = reader.attribute("scan_input_axes", [0] * slices)
    backwards = reader.attribute("scan_input_directions", [0] * slices)
    shapes = [reader.shape(i) for i in range(count)]
    arrays = []
    for i in range(slices):
        whole = reader.shape(count + i)
        shapes.append(
            None if whole is None else [n for a, n in enumerate(whole) if a != axes[i] % len(whole)]
        )
        data, axis = reader.input(count + i), reader.axis(axes[i], count + i)
        if axis:
            rank = reader.rank(count + i)
            data = reader.transpose(data, [axis, *[other for other in range(rank) if other != axis]])
        arrays.append(reader.op("reverse", data, axis=0) if backwards[i] else data)

    def step(data: list[Symbol], before: list[Symbol]) -> tuple[list[Symbol], list[Symbol]]:
        found = reader.read_body(body, [*before, *data], shapes)
        return found[count:], found[:count]

    unused = _unused(body.inputs[count:], body.outputs), _unused(body.inputs[:count], body.outputs)
    outputs, last = _run_foreach(reader, arrays, states, step, unused)
    return [*last, *_scanned(reader, body, count, outputs)]


def _scanned(reader: NodeReader, body: ir.Graph, count: int, outputs: list[Symbol]) -> list[Symbol]:
    """Turn stacked outputs round, and give their axis its position."""
    outputs = _stacked(reader, body.outputs[count:], outputs)
    axes = reader.attribute("scan_output_axes", [0] * len(outputs))
    backwards = reader.attribute("scan_output_directions", [0] * len(outputs))
    found = []
    for value, output, axis, turned in zip(body.outputs[count:], outputs, axes, backwards):
        if turned:
            output = reader.op("reverse", output, axis=0)
        if axis:
            if value.shape is None:
                raise reader.refuse("the number of axes of a scanned output must be known")
            rank = len(value.shape) + 1
            order = list(range(1, rank))
            order.insert(axis % rank, 0)
            output = reader.transpose(output, order)
        found.append(output)
    return found
