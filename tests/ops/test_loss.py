"""Outputs with a loss: what the numbers of `nn/test_recorded.py` do not cover."""

import pytest
import torch
import torch.nn.functional as F

import rebind.ops.loss  # noqa: F401
from rebind.ops import find


def call(name, *tensors, **given):
    op = find(name)
    return op(*tensors, **op.signature.keywords(op.parse(given)))


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def softmax_gradient(data, label, *, head=None, **given):
    data = data.clone().requires_grad_()
    out = call("SoftmaxOutput", data, label, **given)
    out.backward(torch.ones_like(out) if head is None else head)
    return data.grad


@pytest.mark.parametrize(
    ("shape", "label", "given"),
    [
        ((5, 4), [0, 1, 3, 3, 2], {}),
        ((2, 4, 3), [[0, 1, 3], [3, 2, 0]], {"multi_output": True, "normalization": "valid"}),
        ((2, 3, 4), [[0, 1, 3], [3, 2, 0]], {"preserve_shape": True}),
    ],
)
@pytest.mark.parametrize("smooth_alpha", [0.0, 0.2])
def test_softmax_output_is_cross_entropy(shape, label, given, smooth_alpha):
    data, label = randn(*shape), torch.tensor(label)
    logits = data.clone().requires_grad_()
    classes = shape[1] if "multi_output" in given else shape[-1]
    by_class = logits.transpose(1, -1) if "multi_output" in given else logits
    # torch shares the smoothing among all classes, MXNet among the others.
    smoothing = smooth_alpha * classes / (classes - 1)
    loss = F.cross_entropy(
        by_class.reshape(-1, classes),
        label.reshape(-1),
        label_smoothing=smoothing,
        reduction="mean" if "normalization" in given else "sum",
    )
    loss.backward()
    grad = softmax_gradient(data, label.double(), smooth_alpha=smooth_alpha, **given)
    torch.testing.assert_close(grad, logits.grad)


@pytest.mark.parametrize("out_grad", [True, False])
def test_softmax_output_multiplies_by_out_grad_when_asked(out_grad):
    data, label, head = randn(3, 4), torch.tensor([0.0, 3.0, 1.0]), randn(3, 4, seed=1)
    found = softmax_gradient(data, label, head=head, out_grad=out_grad)
    torch.testing.assert_close(found, softmax_gradient(data, label) * (head if out_grad else 1))
    op = find("SoftmaxOutput")
    assert bool(op.kernels.needs_head_gradient(op.parse({"out_grad": out_grad}))) is out_grad


def test_softmax_output_leaves_its_inputs_alone():
    data, label = randn(3, 4), torch.tensor([0.0, 9.0, -5.0])
    out = call("SoftmaxOutput", data, label)
    copies = data.clone(), label.clone(), out.clone()
    op = find("SoftmaxOutput")
    grad, none = op.kernels.gradient(op.parse({}), (data, label), (out,), ())
    assert none is None
    assert all(torch.equal(a, b) for a, b in zip((data, label, out), copies, strict=True))
    torch.testing.assert_close(grad[1:], out[1:])  # labels that are no class


@pytest.mark.parametrize("smooth_alpha", [0.0, 0.3])
@pytest.mark.parametrize("given", [{}, {"multi_output": True}])
def test_a_label_that_is_no_class_takes_nothing_off_among_those_that_are(given, smooth_alpha):
    data, label = (randn(4, 3, 2), randn(4, 2)) if given else (randn(4, 3), randn(4))
    label.copy_(torch.arange(label.numel()).view_as(label) % 3)
    label[2], label[3] = 3, -1
    found = softmax_gradient(data, label, smooth_alpha=smooth_alpha, **given)
    inside = softmax_gradient(data, label.clamp(0, 2), smooth_alpha=smooth_alpha, **given)
    torch.testing.assert_close(found[:2], inside[:2])
    taken = (torch.softmax(data, 1) - smooth_alpha / 2)[2:]
    torch.testing.assert_close(found[2:], taken / 2 if given else taken)  # by the number of positions


@pytest.mark.parametrize(
    ("data", "label", "given"),
    [((0, 3), (0,), {"normalization": "batch"}), ((0, 3, 2), (0, 2), {"multi_output": True})],
)
def test_an_empty_batch(data, label, given):
    assert softmax_gradient(torch.ones(data), torch.ones(label), **given).shape == data


@pytest.mark.parametrize(
    ("data", "label", "multi_output", "says"),
    [
        ((4, 3), None, False, (4,)),
        ((0, 3), None, False, (0,)),
        ((0, 3), (4,), False, (0,)),
        ((0, 2, 3), (4,), False, (0,)),  # one softmax for an instance
        ((0, 2, 3), (4, 2, 3), False, (0, 2, 3)),  # probabilities
        ((4, 3), (4, 1), False, (4,)),  # wrong: inference compares and complains
        ((4, 3, 5, 5), None, True, (4, 25)),
        ((4, 3, 0, 5), None, True, (4, 0)),
        ((4, 3, 5, 5), (0, 5, 5), True, (4, 5, 5)),
        ((4, 3, 5, 5), (0, 1, 5, 5), True, (4, 1, 5, 5)),
        ((4, 1, 5, 5), (4, 0, 5, 5), True, (4, 1, 5, 5)),
        ((4, 3, 5, 5), (4, 0, 5, 5), True, None),  # one class or three
    ],
)
def test_shape_of_the_label(data, label, multi_output, says):
    op = find("SoftmaxOutput")
    found = op.inference.filled_shapes(
        {"data": data, "label": label}, op.parse({"multi_output": multi_output})
    )
    assert found == ({} if says is None else {"label": says})


@pytest.mark.parametrize(
    "name", ["LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"]
)
def test_regression_takes_no_head(name):
    data, label = randn(4, 3).requires_grad_(), randn(4, 3, seed=1)
    call(name, data, label).backward(torch.full((4, 3), 1e9, dtype=torch.float64))
    assert data.grad.abs().max() < 10
    assert not find(name).kernels.needs_head_gradient(find(name).parse({}))


@pytest.mark.parametrize("use_linear", (False, True))
def test_svm_output_is_the_hinge_loss(use_linear):
    data, label = randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
    scores = data.clone().requires_grad_()
    target = 2.0 * F.one_hot(label, 3) - 1
    loss = (0.7 - target * scores).clamp(min=0)
    (3.0 * (loss if use_linear else loss.square()).sum()).backward()
    given = {"margin": 0.7, "regularization_coefficient": 3.0, "use_linear": use_linear}
    data.requires_grad_()
    call("SVMOutput", data, label.double(), **given).sum().backward()
    torch.testing.assert_close(data.grad, scores.grad)
