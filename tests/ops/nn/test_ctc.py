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


def read_out(scores: np.ndarray) -> list[int]:
    """Return the labels of the best class of each time step: without repetitions, without blanks."""
    return [int(label) for label, _ in itertools.groupby(scores.argmax(1)) if label]


class TestWarpCTC:
    OP = OPERATORS["WarpCTC"]
    # 6 steps of 2 sequences; the second sequence has 2 labels.
    SCORES, LABEL = drawn(12, 4), torch.tensor([1, 2, 3, 2, 1, 0], dtype=torch.int32)
    SIZES = {"label_length": 3, "input_length": 6}

    def test_documentation(self):
        globs = {"warp_ctc": self.OP, "torch": torch}
        for test in doctest.DocTestFinder().find(self.OP.kernels.function, "warp_ctc", globs=globs):
            assert not doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed

    def test_the_output_is_the_softmax(self):
        assert torch.equal(self.OP(self.SCORES, self.LABEL, **self.SIZES), self.SCORES.softmax(1))

    @pytest.mark.parametrize("label", [LABEL, LABEL.float()], ids=["int32", "float32"])
    def test_the_gradient_is_that_of_the_sum_of_the_losses(self, label):
        """By finite differences of `CTCLoss`, whatever comes behind."""
        scores = self.SCORES.clone().requires_grad_()
        (self.OP(scores, label, **self.SIZES) * 7).sum().backward()

        def total(scores: torch.Tensor) -> float:
            return float(OP(scores.reshape(6, 2, 4), label.reshape(2, 3)).sum())

        wanted, step = torch.empty_like(self.SCORES), 1e-6
        for place in itertools.product(*map(range, wanted.shape)):
            moved = torch.zeros_like(wanted)
            moved[place] = step
            wanted[place] = (total(self.SCORES + moved) - total(self.SCORES - moved)) / (2 * step)
        torch.testing.assert_close(scores.grad, wanted, rtol=0, atol=1e-8)

    @pytest.mark.parametrize(
        ("known", "data", "label"),
        [
            ({"data": (12, 4)}, (12, 4), (6,)),
            ({"label": (6,)}, (12, 0), (6,)),
            ({"data": (0, 4), "label": (6,)}, (12, 4), (6,)),
        ],
    )
    def test_shapes_follow_from_each_other(self, known, data, label):
        net = mx.sym.WarpCTC(mx.sym.var("data"), mx.sym.var("label"), name="ctc", **self.SIZES)
        assert net.infer_shape_partial(**known) == ([data, label], [data], [])

    @pytest.mark.parametrize(
        ("data", "label", "message"),
        [
            ((13, 4), (6,), r"data must have shape \(6 \* N, C\) with input_length 6; got \(13, 4\)"),
            ((6, 2, 4), (6,), r"data must have shape \(6 \* N, C\) with input_length 6; got \(6, 2, 4\)"),
            (
                (12, 4),
                (2, 3),
                r"label must have shape \(6,\) to match data \(12, 4\), input_length 6 and label_length 3; "
                r"got \(2, 3\)",
            ),
        ],
    )
    def test_shapes_that_do_not_fit(self, data, label, message):
        with pytest.raises(MXNetError, match=f"^WarpCTC: {message}$"):
            mx.nd.WarpCTC(mx.nd.zeros(data), mx.nd.zeros(label), **self.SIZES)

    def test_sizes_are_required(self):
        with pytest.raises(MXNetError, match="needs a value for label_length"):
            mx.sym.WarpCTC(mx.sym.var("data"), mx.sym.var("label"), input_length=6)

    def test_a_label_that_is_no_class_is_an_error_before_training(self):
        rows = mx.io.NDArrayIter({"data": np.zeros((12, 4))}, {"label": np.array([1, 2, 0, 9, 4, 0] * 2)}, 12)
        net = mx.sym.WarpCTC(
            mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4), mx.sym.var("label"), name="ctc",
            label_length=3, input_length=3,
        )  # fmt: skip
        module = mx.mod.Module(net, label_names=["label"])
        with pytest.raises(
            MXNetError, match="labels of 'ctc' must be classes from 1 to 3; got 9 at index 3 of 'label'"
        ):
            module.fit(rows, num_epoch=1, eval_metric=mx.metric.np(lambda label, pred: 0.0))

    def test_a_program_that_reads_text_trains(self):
        """The structure of MXNet's old example: an unrolled LSTM, one `FullyConnected` of all steps, `WarpCTC`."""
        steps, labels, batch, classes, hidden = 8, 2, 16, 4, 24
        random = np.random.RandomState(3)
        wanted = random.randint(1, classes, (64, labels))
        pictures = random.uniform(0, 0.1, (64, steps, classes))
        for picture, (first, second) in zip(pictures, wanted, strict=True):
            picture[1:3, first] += 1
            picture[5:7, second] += 1
        start = {f"l0_init_{name}": np.zeros((64, hidden)) for name in "ch"}
        train = mx.io.NDArrayIter(
            {"data": pictures.reshape(64, -1), **start}, {"label": wanted}, batch, shuffle=False
        )

        columns = mx.sym.SliceChannel(mx.sym.var("data"), num_outputs=steps, name="columns")
        cell = mx.rnn.LSTMCell(hidden, prefix="l0_")
        state = [mx.sym.var("l0_init_h"), mx.sym.var("l0_init_c")]
        read = []
        for step in range(steps):
            output, state = cell(columns[step], state)
            read.append(output)
        scores = mx.sym.FullyConnected(mx.sym.Concat(*read, dim=0), num_hidden=classes)
        label = mx.sym.Cast(mx.sym.Reshape(mx.sym.var("label"), shape=(-1,)), dtype="int32")
        net = mx.sym.WarpCTC(data=scores, label=label, label_length=labels, input_length=steps)

        def right(label: np.ndarray, pred: np.ndarray) -> float:
            found = pred.reshape(steps, len(label), classes)
            return np.mean([read_out(found[:, i]) == list(row) for i, row in enumerate(label)])

        mx.random.seed(2)
        module = mx.mod.Module(net, data_names=["data", "l0_init_c", "l0_init_h"], label_names=["label"])
        history = module.fit(
            train, num_epoch=30, eval_metric=mx.metric.np(right, allow_extra_outputs=True), optimizer="adam",
            optimizer_params={"learning_rate": 0.02, "rescale_grad": 1 / batch}, initializer=mx.init.Xavier(),
        )  # fmt: skip
        assert dict(module.score(train, mx.metric.np(right)))["right"] > 0.9, history
