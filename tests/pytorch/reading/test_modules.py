"""Small modules of PyTorch as symbols: the same numbers at two sizes of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import rebind as mx
from rebind.pytorch import from_torch


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


class Attention(nn.Module):
    """Attention of a sequence to itself, with a mask or causal."""

    def __init__(self, mask: str | None = None) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True)
        self.mask = mask

    def forward(self, x: Tensor) -> Tensor:
        mask = None
        if self.mask:
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            mask = mask.isinf() if self.mask == "bool" else mask
        return self.layer(x, x, x, attn_mask=mask, need_weights=self.mask is None)[0]


class Recurrent(nn.Module):
    """A recurrent layer, its outputs and its last states."""

    def __init__(self, kind: type[nn.RNNBase], **settings: Any) -> None:
        super().__init__()
        self.layer = kind(6, 5, **settings)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        outputs, states = self.layer(x)
        return outputs, *(states if isinstance(states, tuple) else (states,))


class Embedded(nn.Module):
    """Embeddings with a padding index, positions, a class token."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 4, padding_idx=0)
        self.token = nn.Parameter(torch.randn(1, 1, 4))
        self.register_buffer("positions", torch.randn(1, 12, 4))

    def forward(self, x: Tensor) -> Tensor:
        words = self.words(x)
        words = torch.cat([self.token.expand(x.shape[0], -1, -1), words], 1)
        words = words + self.positions[:, : words.shape[1]]
        mask = torch.cat([torch.ones_like(x[:, :1]), x], 1) != 0
        return (words * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def statistics(module: nn.Module) -> nn.Module:
    """Give BatchNorm statistics and weights that are not 0 and 1."""
    for value in [*module.parameters(), *module.buffers()]:
        if value.is_floating_point() and value.ndim == 1:
            value.data.uniform_(0.5, 1.5)
    return module


IMAGE, LINE, VOLUME, ROW, SEQUENCE = (3, 4, 8, 6), (3, 4, 9), (3, 2, 4, 6, 4), (3, 10), (3, 7, 6)


def written_slices(x: Tensor) -> Tensor:
    """Write the first, an inner and the last slice of an axis, of tensors that are as large or are repeated."""
    out = x.clone()
    out[:, 0] = x[:, 1] * 2
    out[:, :, 3] = x[0, 0, 0]
    out[..., -1] = 7
    return out


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, padding=1, dilation=2), LINE),
    "conv2d of groups": (lambda: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), groups=2, bias=False), IMAGE),
    "conv2d 'same'": (lambda: nn.Conv2d(4, 6, (4, 3), padding="same"), IMAGE),
    "conv2d with a circular border": (lambda: nn.Conv2d(4, 5, 3, padding=1, padding_mode="circular"), IMAGE),
    "conv2d with a reflected border": (lambda: nn.Conv2d(4, 5, 3, padding=1, padding_mode="reflect"), IMAGE),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2, stride=2), VOLUME),
    "transposed conv1d": (lambda: nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, groups=2), LINE),
    "transposed conv2d": (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, dilation=2), IMAGE),
    "transposed conv3d": (lambda: nn.ConvTranspose3d(2, 3, 2, 2), VOLUME),
    "linear": (lambda: nn.Linear(10, 4), ROW),
    "linear of more axes": (lambda: nn.Linear(6, 4, bias=False), SEQUENCE),
    "bilinear": (lambda: Function(lambda x: torch.einsum("bi,bj->bij", x, x)), ROW),
    "batch norm": (lambda: statistics(nn.BatchNorm2d(4, eps=1e-3)), IMAGE),
    "batch norm without weights": (lambda: statistics(nn.BatchNorm1d(10, affine=False)), ROW),
    "batch norm without statistics": (lambda: nn.BatchNorm2d(4, track_running_stats=False), IMAGE),
    "layer norm": (lambda: statistics(nn.LayerNorm(6)), SEQUENCE),
    "layer norm of two axes": (lambda: nn.LayerNorm([8, 6]), IMAGE),
    "layer norm without weights": (lambda: nn.LayerNorm(6, elementwise_affine=False), SEQUENCE),
    "group norm": (lambda: statistics(nn.GroupNorm(2, 4)), IMAGE),
    "instance norm": (lambda: statistics(nn.InstanceNorm2d(4, affine=True)), IMAGE),
    "instance norm without weights": (lambda: nn.InstanceNorm1d(4), LINE),
    "rms norm": (lambda: statistics(nn.RMSNorm(6)), SEQUENCE),
    "local response": (lambda: nn.LocalResponseNorm(3), IMAGE),
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(10, 4)), ROW),
    "max pooling": (lambda: nn.MaxPool2d(3, 2, 1), IMAGE),
    "max pooling that rounds up": (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), IMAGE),
    "max pooling with spaces": (lambda: nn.MaxPool2d(2, 1, dilation=2), IMAGE),
    "max pooling 1d": (lambda: nn.MaxPool1d(2), LINE),
    "mean pooling": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "mean pooling with border": (lambda: nn.AvgPool2d((3, 2), 2, (1, 0)), IMAGE),
    "mean pooling 3d": (lambda: nn.AvgPool3d(2), VOLUME),
    "adaptive pooling to one": (lambda: nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive pooling": (lambda: nn.AdaptiveAvgPool2d((3, 4)), IMAGE),
    "adaptive pooling 1d": (lambda: nn.AdaptiveAvgPool1d(4), LINE),
    "adaptive max pooling": (lambda: nn.AdaptiveMaxPool2d((4, 3)), IMAGE),
    "upsampling": (lambda: nn.Upsample(scale_factor=2), IMAGE),
    "upsampling to a size": (lambda: nn.Upsample((11, 7)), IMAGE),
    "bilinear upsampling": (lambda: nn.Upsample(scale_factor=(1.5, 2), mode="bilinear"), IMAGE),
    "bilinear upsampling with corners": (
        lambda: nn.Upsample((5, 9), mode="bilinear", align_corners=True),
        IMAGE,
    ),
    "bicubic upsampling": (lambda: nn.Upsample((13, 7), mode="bicubic"), IMAGE),
    "linear upsampling": (lambda: nn.Upsample(scale_factor=2, mode="linear"), LINE),
    "pixel shuffle": (
        lambda: nn.Sequential(nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2)),
        IMAGE,
    ),
    "borders": (
        lambda: nn.Sequential(nn.ZeroPad2d((1, 2, 0, 1)), nn.ReplicationPad2d(1), nn.ReflectionPad2d(2)),
        IMAGE,
    ),
    "border of a line": (
        lambda: nn.Sequential(nn.ReflectionPad1d((2, 1)), nn.ConstantPad1d((-1, 2), 3.0)),
        LINE,
    ),
    "dropout": (lambda: nn.Sequential(nn.Dropout(0.3), nn.Dropout2d(0.2), nn.Flatten(2, 3)), IMAGE),
    "activations": (
        lambda: nn.Sequential(
            nn.ELU(0.5),
            nn.Tanh(),
            nn.LeakyReLU(0.2),
            nn.SELU(),
            nn.CELU(2.0),
            nn.SiLU(),
            nn.GELU(),
            nn.Mish(),
        ),
        ROW,
    ),
    "more activations": (
        lambda: nn.Sequential(
            nn.GELU("tanh"),
            nn.Hardtanh(-0.5, 0.9),
            nn.Softplus(2.0),
            nn.LogSigmoid(),
            nn.Softsign(),
            nn.Hardswish(),
            nn.Tanhshrink(),
            nn.Hardsigmoid(),
            nn.Softmin(-1),
        ),
        ROW,
    ),
    "activations with steps": (
        lambda: nn.Sequential(
            nn.Softshrink(0.1), nn.Hardshrink(0.2), nn.Threshold(0.1, -2.0), nn.ReLU6(), nn.GLU(1)
        ),
        ROW,
    ),
    "prelu": (lambda: nn.Sequential(nn.PReLU(4), nn.PReLU()), IMAGE),
    "softmax": (lambda: nn.Sequential(nn.Softmax(1), nn.LogSoftmax(-1)), IMAGE),
    "attention": (lambda: Attention(), (3, 5, 8)),
    "attention with a mask": (lambda: Attention("float"), (3, 5, 8)),
    "attention with a mask of booleans": (lambda: Attention("bool"), (3, 5, 8)),
    "causal attention": (
        lambda: Function(
            lambda x: F.scaled_dot_product_attention(x, x[:, :, :4], x[:, :, 1:5], is_causal=True)
        ),
        (3, 2, 6, 4),
    ),
    "lstm": (lambda: Recurrent(nn.LSTM, batch_first=True), SEQUENCE),
    "lstm in both directions": (
        lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True, batch_first=True),
        SEQUENCE,
    ),
    "lstm with a projection": (lambda: Recurrent(nn.LSTM, proj_size=3, batch_first=True), SEQUENCE),
    "gru": (lambda: Recurrent(nn.GRU, num_layers=2, dropout=0.3, batch_first=True), SEQUENCE),
    "gru without biases": (
        lambda: Recurrent(nn.GRU, bias=False, bidirectional=True, batch_first=True),
        SEQUENCE,
    ),
    "rnn": (lambda: Recurrent(nn.RNN, nonlinearity="relu", batch_first=True), SEQUENCE),
    "rnn, time first": (lambda: Recurrent(nn.RNN), SEQUENCE),
    "embedding": (Embedded, (3, 7)),
    "arithmetic": (
        lambda: Function(
            lambda x: (
                torch.add(x, 2 - x, alpha=3) / (x**2 + 1)
                - 1 / (2 + x.abs())
                + torch.rsub(x, x.exp(), alpha=2)
            )
        ),
        ROW,
    ),
    "powers": (lambda: Function(lambda x: x.abs() ** 0.5 + 2**x + x.sigmoid() ** x.tanh()), ROW),
    "rounded quotients": (
        lambda: Function(
            lambda x: (x // 0.3, torch.div(x, 0.3, rounding_mode="trunc"), x % 0.3, torch.fmod(x, 0.3))
        ),
        ROW,
    ),
    "functions": (
        lambda: Function(
            lambda x: (x.sin().log1p(), x.abs().log2(), x.erf().expm1(), x.abs().rsqrt(), (3 * x).round())
        ),
        ROW,
    ),
    "conditions": (
        lambda: Function(
            lambda x: (
                torch.where((x > 0) & ~(x > 1), x, 0.5)
                + x.masked_fill(x < -0.5, -9.0)
                + torch.where(x[:, :1] <= 0, x.new_ones(()), x)
                + (x == x.amax(1, keepdim=True)).float()
            )
        ),
        ROW,
    ),
    "bounds": (
        lambda: Function(lambda x: x.clamp(max=0.5).clamp_min(-0.5).maximum(x.mean(0)).min(x + 1)),
        ROW,
    ),
    "reductions": (
        lambda: Function(
            lambda x: (
                x.sum((2, 3)),
                x.mean(1, True),
                x.amax(-1),
                x.var(1),
                x.std((2, 3), unbiased=False, keepdim=True),
            )
        ),
        IMAGE,
    ),
    "reductions of the batch": (
        lambda: Function(lambda x: (x.mean(), x.std(0), x.max(), x.logsumexp((0, 1)))),
        IMAGE,
    ),
    "norms": (
        lambda: Function(
            lambda x: (F.normalize(x), x.norm(dim=1), x.norm(1, 2), torch.linalg.vector_norm(x, 3, (2, 3)))
        ),
        IMAGE,
    ),
    "positions": (
        lambda: Function(lambda x: (*x.max(1), x.argmin(-1), *x.topk(3), *x.sort(1, descending=True))),
        ROW,
    ),
    "running sums": (lambda: Function(lambda x: x.cumsum(1) + x.flip(1).cumprod(-1)), ROW),
    "any and all": (lambda: Function(lambda x: ((x > 1).any(1), (x > -1).all(1, keepdim=True))), ROW),
    "split and join": (
        lambda: Function(
            lambda x: (
                torch.cat([*x.chunk(2, 1), *x.split([1, 3], 1)], 1)
                + torch.stack(x.unbind(1), 1).repeat(1, 2, 1, 1)
            )
        ),
        IMAGE,
    ),
    "uneven chunks": (lambda: Function(lambda x: torch.cat(x.chunk(3, 1)[::-1], 1)), ROW),
    "slices": (
        lambda: Function(lambda x: (x[:, 1:-1, ::2], x[:, -1], x[..., 2:5], x[:, :, None, 0], x[-1:])),
        IMAGE,
    ),
    "shapes": (
        lambda: Function(
            lambda x: (
                x.view(x.shape[0], 2, 2, -1).permute(0, 2, 1, 3).reshape(-1, 4, 12).transpose(1, 2).flatten(1)
            )
        ),
        IMAGE,
    ),
    "batch and heads": (
        lambda: Function(
            lambda x: x.reshape(-1, 8, 6).softmax(-1).view(x.shape[0], 4, 8, 6).squeeze().unsqueeze(-1)
        ),
        IMAGE,
    ),
    "expanded": (
        lambda: Function(lambda x: x[:, :, None].expand(-1, -1, 4) * x.new_full((x.shape[0], 1, 4), 2.0)),
        ROW,
    ),
    "rolled and repeated": (
        lambda: Function(lambda x: x.roll((1, -2), (2, 3)).repeat_interleave(2, 1).tile(1, 1, 2)),
        IMAGE,
    ),
    "matrices": (
        lambda: Function(
            lambda x: (x @ x.mT, torch.bmm(x[:, 0], x[:, 1].mT), torch.matmul(x, x[0, 0].T), x @ x[0, 0, 0])
        ),
        IMAGE,
    ),
    "picked": (
        lambda: Function(
            lambda x: (
                x[:, torch.tensor([2, 0, -1])],
                x[torch.arange(x.shape[0]), x.argmax(1)],
                x.gather(1, x.argsort(1)),
                x.index_select(1, torch.tensor([1, 1])),
                F.one_hot(x.argmax(1), 10),
            )
        ),
        ROW,
    ),
    "written at positions": (
        lambda: Function(
            lambda x: (
                x.scatter(1, x.argsort(1), x * 2),
                x.scatter(1, x.argsort(1)[:, :3], x + 1),
                x.scatter(1, x.argsort(1)[:, 2:4], -1.5),
                x.scatter_add(1, x.argsort(1) // 2, x),
                x.take(x.argmax(1)),
            )
        ),
        ROW,
    ),
    "signs and bits": (
        lambda: Function(
            lambda x: (
                torch.copysign(x + 1, x.trunc()),
                torch.copysign(x, torch.tensor(-0.0)),
                torch.copysign(x, -2.0),
                1 << x.argsort(1),
                x.argsort(1) << 2,
                torch.bitwise_right_shift(x.argsort(1) * 100, x.argsort(1)),
            )
        ),
        ROW,
    ),
    "triangles": (lambda: Function(lambda x: (x.tril(), x.triu(1) + torch.ones(8, 6).tril(-1))), IMAGE),
    "arithmetic with a free size": (
        lambda: Function(
            lambda x: (
                x * x.shape[0],
                x + x.shape[0],
                x.argsort(1) < x.shape[0],
                torch.where(x > 0, x, x.shape[0]),
                torch.clamp(x * 9, 0.5, x.shape[0]),
            )
        ),
        ROW,
    ),
    "positions of a free axis": (
        lambda: Function(lambda x: x + torch.arange(x.shape[0]).unsqueeze(1) * 2),
        ROW,
    ),
    "samples of a grid": (
        lambda: Function(
            lambda x: F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1).tanh(), align_corners=False)
        ),
        IMAGE,
    ),
    "slices written in place": (lambda: Function(written_slices), IMAGE),
    "state written in place": (lambda: Function(lambda x: x.clone().mul_(2).add_(x).relu_()), ROW),
}


#: A third of them always: most of the time goes into `torch.export`.
ROWS = [
    pytest.param(name, marks=[pytest.mark.slow] if number % 3 else []) for number, name in enumerate(MODULES)
]


def example(name: str, shape: tuple[int, ...], batch: int) -> Tensor:
    generator = torch.Generator().manual_seed(batch)
    shape = (batch, *shape[1:])
    if name == "embedding":
        return torch.randint(0, 9, shape, generator=generator)
    return torch.randn(shape, generator=generator)


def run(symbol: Any, arg_params: Any, aux_params: Any, x: Tensor) -> list[np.ndarray]:
    """Bind a symbol of one input to parameters, and return its outputs."""
    (data,) = [name for name in symbol.list_arguments() if name not in arg_params]
    arguments = {**arg_params, data: mx.nd.array(x.numpy())}
    executor = symbol.bind(mx.cpu(), arguments, aux_states=aux_params, grad_req="null")
    return [output.asnumpy() for output in executor.forward()]


@pytest.mark.filterwarnings(
    "ignore:Using padding='same' with even kernel", "ignore:LSTM with projections is not supported"
)
@pytest.mark.parametrize("name", ROWS)
def test_outputs_are_those_of_torch_at_two_sizes(name: str) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(0)
    module = make().eval()
    network = from_torch(module, example(name, shape, 3))
    for batch in (3, 5):
        x = example(name, shape, batch)
        with torch.no_grad():
            expected = module(x)
        expected = [expected] if isinstance(expected, Tensor) else list(expected)
        found = run(*network, x)
        assert len(found) == len(expected)
        for output, wanted in zip(found, expected, strict=True):
            numbers = wanted.numpy()
            np.testing.assert_allclose(output.reshape(-1), numbers.reshape(-1), 2e-5, 2e-6, err_msg=name)
            assert output.shape == (numbers.shape or (1,))
