"""CTC: against all alignments, its two forms against each other, and what is no alignment."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import DTypeError, MXNetError
from rebind.ops import OPERATORS
from rebind.ops.nn import ctc

OP = OPERATORS["CTCLoss"]


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def by_enumeration(scores: torch.Tensor, labels: list[int], blank: int) -> float:
    """Sum the probabilities of all ways to write the labels."""
    probabilities = scores.softmax(1)
    total = 0.0
    for path in itertools.product(range(scores.shape[1]), repeat=scores.shape[0]):
        if [label for label, _ in itertools.groupby(path) if label != blank] == labels:
            total += float(probabilities[range(len(path)), list(path)].prod())
    return -np.log(total)


def test_documentation():
    for test in doctest.DocTestFinder().find(
        OP.kernels.function, "ctc_loss", globs={"ctc_loss": OP, "torch": torch}
    ):
        assert not doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed


@pytest.mark.parametrize("name", ["CTCLoss", "ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"])
def test_one_operator_has_all_names(name):
    assert OPERATORS[name] is OP


@pytest.mark.parametrize("blank_label", ["first", "last"])
@pytest.mark.parametrize("labels", [[], [1], [1, 2], [2, 2], [1, 2, 1]])
def test_loss_is_that_of_all_alignments(labels, blank_label):
    scores = drawn(5, 1, 4)
    shift, blank, padding = (0, 0, 0) if blank_label == "first" else (1, 3, -1)
    wanted = [label - shift for label in labels]
    found = OP(scores, torch.tensor([wanted + [padding] * (4 - len(wanted))]), blank_label=blank_label)
    assert found.item() == pytest.approx(by_enumeration(scores[:, 0], wanted, blank), rel=1e-12)


SCORES, LABEL = drawn(6, 2, 4), torch.tensor([[1, 2, 3], [2, 1, 3]])


@pytest.mark.parametrize(
    ("times", "lengths", "expected"),
    [
        pytest.param(
            [4, 5],
            [2.0, 1.0],
            lambda: torch.cat([OP(SCORES[:4, :1], LABEL[:1, :2]), OP(SCORES[:5, 1:], LABEL[1:, :1])]),
            id="shorter",
        ),
        pytest.param([60, 6], [3, 9], lambda: OP(SCORES, LABEL), id="longer-than-the-arrays"),
    ],
)
def test_lengths_cut_off_what_follows(times, lengths, expected):
    given = {"use_data_lengths": True, "use_label_lengths": True}
    found = OP(SCORES, LABEL, torch.tensor(times), torch.tensor(lengths), **given)
    torch.testing.assert_close(found, expected())


def test_negative_lengths_are_none():
    given = {"use_data_lengths": True, "use_label_lengths": True}
    found = OP(SCORES, LABEL, torch.tensor([-1, 6]), torch.tensor([3, -1]), **given)
    assert found[0] == 0 and found[1] == OP(SCORES, torch.zeros(2, 3))[1]


@pytest.mark.parametrize("blank_label", ["first", "last"])
def test_the_exact_form_is_the_fast_one(blank_label):
    blank = 0 if blank_label == "first" else 4
    targets = torch.tensor([[1, 2, 1], [3, 3, 3], [2, 2, 1], [1, 1, 1]])
    times, lengths = torch.tensor([6, 4, 6, 3]), torch.tensor([3, 3, 0, 2])
    losses = []
    for exact in (False, True):
        scores = drawn(6, 4, 5).requires_grad_()
        logs = scores.log_softmax(2)
        if exact:
            loss = ctc._forward_algorithm(logs, targets, times, lengths, blank)
        else:
            loss = torch.nn.functional.ctc_loss(logs, targets, times, lengths, blank, "none", True)
        losses.append((loss, *torch.autograd.grad(loss, scores, drawn(4))))
    assert losses[0][0][1] == 0  # three equal labels need five steps
    for fast, exact in zip(*losses, strict=True):
        torch.testing.assert_close(fast, exact)


@pytest.mark.parametrize(
    ("steps", "labels", "bad"),
    [
        (3, [[1, 1, 1], [1, 2, 3]], [0.0, None]),
        (3, [[1, 2, 3, 1], [1, 2, 3, 3]], [0.0, 0.0]),  # more labels than steps
        (5, [[1, 4, 0], [1, -1, 0], [1, 0, 9]], [np.nan, np.nan, None]),  # the last one is after the padding
    ],
)
def test_what_has_no_alignment_has_no_gradient(steps, labels, bad):
    """The loss is 0 where labels cannot be aligned, nan where one is no class."""
    scores = drawn(steps, len(labels), 4).requires_grad_()
    loss = OP(scores, torch.tensor(labels))
    (gradient,) = torch.autograd.grad(loss.sum(), scores)
    for k, value in enumerate(bad):
        assert loss[k] > 0 if value is None else np.array_equal(loss[k].item(), value, equal_nan=True)
        assert gradient[:, k].any() == (value is None)


@pytest.mark.parametrize("label_dtype", [torch.float32, torch.int32, torch.uint8, torch.float64])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_types(dtype, label_dtype):
    scores = drawn(5, 2, 4).to(dtype)
    label = torch.tensor([[1, 2], [3, 0]])
    loss = OP(scores, label.to(label_dtype))
    assert loss.dtype is dtype
    torch.testing.assert_close(
        loss.double(), OP(scores.double(), label), rtol=4 * torch.finfo(dtype).eps, atol=0
    )


@pytest.mark.parametrize("shape", [(0, 2, 3), (4, 0, 3)])
def test_empty_arrays(shape):
    scores = torch.zeros(shape, requires_grad=True)
    loss = OP(scores, torch.ones(shape[1], 2))
    assert loss.tolist() == [0.0] * shape[1]
    loss.sum().backward()
    assert OP(torch.zeros(4, 2, 3), torch.ones(2, 0)).tolist() == pytest.approx([4 * np.log(3)] * 2)


def test_the_loss_is_of_the_type_of_the_scores():
    symbol = mx.sym.CTCLoss(mx.sym.var("x"), use_label_lengths=True, name="loss")
    types = symbol.infer_type(x="float32", loss_label="int32", loss_label_lengths="float64")
    assert types[1] == [np.float32]


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ([(2, 4), (2, 3)], "CTCLoss: data must have 3 axes (T, N, C); got shape (2, 4)"),
        ([(7, 2, 4), (3, 3)], "CTCLoss: label must have shape (2, L) to match data (7, 2, 4); got (3, 3)"),
        ([(7, 2, 4), (2,)], "CTCLoss: label must have shape (2, L) to match data (7, 2, 4); got (2,)"),
        (
            [(7, 2, 4), (2, 3), (3,)],
            "CTCLoss: data_lengths must have shape (2,) to match data (7, 2, 4); got (3,)",
        ),
        ([(7, 2, 4), (2, 3), (2,), (1, 2)], "CTCLoss: label_lengths must have shape (2,)"),
    ],
)
def test_mistakes_meet_a_sentence(shapes, says):
    with pytest.raises(MXNetError) as caught:
        OP(
            *(torch.zeros(shape) for shape in shapes),
            use_data_lengths=len(shapes) > 2,
            use_label_lengths=len(shapes) > 3,
        )
    assert says in str(caught.value)


def test_whole_numbers_are_no_scores():
    with pytest.raises(DTypeError, match="CTCLoss: data must be of a floating type; got int32"):
        OP(torch.zeros(4, 2, 3, dtype=torch.int32), torch.ones(2, 2))
