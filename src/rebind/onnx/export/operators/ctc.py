"""The loss of labels that are not aligned with their sequence, by a Scan over the steps."""

from __future__ import annotations

import onnx_ir as ir
import torch

from ..body_writer import BodyWriter
from ..expressions import Expression, concat, numbers, real, stack, where
from ..node_writer import NodeWriter
from ..translations import translation
from .suppression import numbered

__all__ = ["ctc_loss"]

#: The logarithm of what cannot be: a number, as infinities have no differences.
_NEVER = -1e30


@translation("CTCLoss")
def ctc_loss(
    writer: NodeWriter,
    data: ir.Value,
    label: ir.Value,
    data_lengths: ir.Value | None = None,
    label_lengths: ir.Value | None = None,
) -> ir.Value:
    """Write Graves' forward algorithm in logarithms: -log of the sum over all alignments.

    A sequence that cannot have its labels has loss 0, and one with a label that is no class nan.
    """
    scores, labels = real(writer, data), Expression(writer, label, writer.dtype(1)).to(torch.int64)
    probabilities = scores.apply("LogSoftmax", axis=2)
    classes, last = scores.length(2), labels.length(1)
    is_first = writer.params.blank_label == "first"
    if label_lengths is None:
        lengths = _before(labels.equals(0 if is_first else -1), last)
    else:
        lengths = _lengths(writer, label_lengths, -1, last)
    unused = numbered(labels, 1) >= lengths
    wrong = ((labels < 0) | (labels >= classes)) & ~unused
    labels = labels.clamp(0, classes - 1)
    blank = numbers(writer, [0], torch.int64) if is_first else classes - 1
    states = _with_blanks(labels, blank)
    end = None if data_lengths is None else _lengths(writer, data_lengths, 2, scores.length(0))
    ways = _ways(writer, probabilities, states, _may_skip(labels), end)
    # The last label and the blank after it are where an alignment may end.
    at_blank, at_label = (ways.gather(1, (lengths * 2 - back).clamp(0)) for back in (0, 1))
    at_label = where(lengths > 0, at_label, _NEVER)
    loss = _sum_of_logarithms([at_blank, at_label]).apply("Neg")
    loss = where(loss < -_NEVER / 2, loss, 0.0).squeeze(1)
    return (
        where(wrong.to(torch.int32).amax(1) > 0, loss.full_like(float("nan")), loss).to(writer.dtype()).value
    )


def _lengths(writer: NodeWriter, given: ir.Value, index: int, most: Expression) -> Expression:
    """Return lengths from 0 to the number of steps or labels, (N, 1)."""
    lengths = Expression(writer, given, writer.dtype(index)).to(torch.int64)
    return lengths.unsqueeze(1).clamp(0, most)


def _before(is_padding: Expression, most: Expression) -> Expression:
    """Return how many labels there are before the padding, (N, 1)."""
    number = is_padding.to(torch.int32)
    return where(number.amax(1, keepdim=True) > 0, number.argmax(1, keepdim=True), most)


def _with_blanks(labels: Expression, blank: Expression) -> Expression:
    """Return the labels with a blank before each and one at the end, (N, 2 L + 1)."""
    blanks = blank.expand_as(labels)
    pairs = stack([blanks, labels], 2).reshape(0, -1)
    return concat([pairs, blank.expand_as(labels.slice(1, 0, 1))], 1)


def _may_skip(labels: Expression) -> Expression:
    """Return where the blank before a label may be left out, (N, 2 L + 1): where the label before it is another."""
    before = concat([labels.slice(1, 0, 1), labels.slice(1, 0, -1)], 1)  # the first has no label before it
    differs = ~labels.equals(before)
    never = labels.full_like(0, torch.bool)
    pairs = stack([never, differs], 2).reshape(0, -1)
    return concat([pairs, never.slice(1, 0, 1)], 1)


def _ways(
    writer: NodeWriter,
    probabilities: Expression,
    states: Expression,
    skips: Expression,
    end: Expression | None,
) -> Expression:
    """Return the logarithms of what leads to each state at the end of each sequence, (N, 2 L + 1)."""
    dtype = probabilities.dtype
    start = where(numbered(states, 1).equals(0), numbers(writer, 0.0, dtype), _NEVER).expand_as(states)
    inner = BodyWriter(writer, "body")
    ways = Expression(inner, inner.input("ways", dtype, (0, 0)), dtype)
    step = Expression(inner, inner.input("step", dtype, (0, 0)), dtype)
    one_before = _shifted(ways)
    two_before = where(skips, _shifted(one_before), _NEVER)
    sums = _sum_of_logarithms([ways, one_before, two_before])
    new = (sums + step.gather(1, states)).maximum(_NEVER)
    scanned = [probabilities]
    if end is not None:
        within = numbered(probabilities, 0).unsqueeze(1, 2) < end
        scanned.append(within)
        new = where(Expression(inner, inner.input("within", torch.bool, (0, 1)), torch.bool), new, ways)
    found = writer.op(
        "Scan",
        *(each.value for each in (start, *scanned)),
        body=inner.finish([new.value]),
        num_scan_inputs=len(scanned),
    )
    return Expression(writer, found, dtype)


def _shifted(ways: Expression) -> Expression:
    """Return what leads to the state before each."""
    return concat([ways.slice(1, 0, 1).full_like(_NEVER), ways.slice(1, 0, -1)], 1)


def _sum_of_logarithms(terms: list[Expression]) -> Expression:
    """Return the logarithm of the sum of what the terms are logarithms of."""
    largest = terms[0]
    for term in terms[1:]:
        largest = largest.maximum(term)
    total = (terms[0] - largest).apply("Exp")
    for term in terms[1:]:
        total = total + (term - largest).apply("Exp")
    return total.apply("Log") + largest
