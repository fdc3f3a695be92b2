"""SyncBatchNorm in one process and in two, and BatchNormWithReLU."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError
from rebind.ops import OPERATORS

SYNC, RELU, PLAIN = (
    OPERATORS[name] for name in ("_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU", "BatchNorm")
)
FLAGS = [
    {"fix_gamma": fix_gamma, "use_global_stats": use_global_stats, "training": training}
    for fix_gamma in (True, False)
    for use_global_stats in (True, False)
    for training in (True, False)
]


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def inputs(*shape: int, axis: int = 1) -> list[torch.Tensor]:
    statistics = [drawn(shape[axis], seed=seed) + 0.5 for seed in range(2, 6)]
    return [
        drawn(*shape).requires_grad_(),
        *(each.requires_grad_(i < 2) for i, each in enumerate(statistics)),
    ]


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_in_one_process_it_is_batch_norm(flags):
    arrays = inputs(4, 3, 2)
    ours, plain = (
        SYNC(*arrays, key="layer", output_mean_var=True, **flags),
        PLAIN(*arrays, output_mean_var=True, **flags),
    )
    torch.testing.assert_close(ours[0], plain[0])
    torch.testing.assert_close(ours[2], plain[2] ** -2 - 1e-3)  # the variance, not its inverse root
    for mine, its in zip((ours[1], *ours[3:]), (plain[1], *plain[3:]), strict=True):
        assert (mine is None and its is None) or torch.equal(mine, its)


@pytest.mark.parametrize("axis", [1, 2, -1])
@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_with_relu_is_batch_norm_and_relu(flags, axis):
    arrays = inputs(4, 3, 2, axis=axis)
    arrays[2] = (arrays[2] - 1.0).detach().requires_grad_()  # beta, so that something is cut off
    ours, plain = RELU(*arrays, axis=axis, **flags), PLAIN(*arrays, axis=axis, **flags)
    torch.testing.assert_close(ours[0], plain[0].relu())
    head = drawn(4, 3, 2)
    wanted = arrays[:1] if flags["fix_gamma"] else arrays[:2]
    for mine, its in zip(
        torch.autograd.grad(ours[0], wanted, head),
        torch.autograd.grad(plain[0].relu(), wanted, head),
        strict=True,
    ):
        torch.testing.assert_close(mine, its)


def test_with_relu_as_mxnet_has_it():
    """Recorded from MXNet 1.9.1 with oneDNN, which it needs and the other records are made without."""
    x = mx.sym.var("data")
    symbol = mx.sym.contrib.BatchNormWithReLU(
        x, fix_gamma=False, momentum=0.5, output_mean_var=True, name="op"
    )
    arguments = {
        "data": (np.arange(12, dtype="float32").reshape(2, 3, 2, 1) * 7 % 5) - 2,
        "op_gamma": np.array([1, 0.5, -1], "float32"),
        "op_beta": np.array([0, 0.5, 1], "float32"),
    }
    arguments = {key: mx.nd.array(value) for key, value in arguments.items()}
    gradients = {key: mx.nd.zeros(value.shape) for key, value in arguments.items()}
    states = {"op_moving_mean": mx.nd.array([1, 2, 3]), "op_moving_var": mx.nd.array([1, 2, 3])}
    executor = symbol.bind(mx.cpu(), arguments, gradients, "write", states)
    outputs = executor.forward(is_train=True)
    executor.backward([mx.nd.arange(12).reshape((2, 3, 2, 1)), mx.nd.zeros((3,)), mx.nd.zeros((3,))])
    expected = {
        "output": [
            0,
            0,
            1.1733758,
            0.01901728,
            0,
            1.9619654,
            0,
            1.4138602,
            0.01901728,
            0.78858966,
            1.9619654,
            0.4228207,
        ],
        "mean": [0, 0.25, -0.75],
        "var": [0.7069301, 0.7695724, 0.7695724],
        "data": [
            *(1.2358913, -1.2371277, -0.99780065, -1.2112162, 2.908514, 2.6498628),
            *(-1.2371277, 1.2383641, 0.71271473, 1.4963021, -1.197999, -4.3603783),
        ],
        "op_gamma": [9.897021, -2.6935034, -8.0805105],
        "op_beta": [7, 22, 26],
        "op_moving_mean": [0.5, 1.125, 1.125],
        "op_moving_var": [1.5, 1.84375, 2.34375],
    }
    found = (
        dict(zip(("output", "mean", "var"), outputs, strict=True)) | executor.grad_dict | executor.aux_dict
    )
    for name, values in expected.items():
        np.testing.assert_allclose(found[name].asnumpy().ravel(), values, rtol=1e-5, atol=2e-5, err_msg=name)


def test_several_devices_without_a_group_are_warned_of():
    arrays = inputs(4, 3)
    with pytest.warns(
        UserWarning, match="_contrib_SyncBatchNorm 'bn0': ndev is 2, but there is no process group"
    ):
        SYNC(*arrays, key="bn0", ndev=2, training=True)
    SYNC(*arrays, key="bn0", ndev=2)  # inference needs no group


@pytest.mark.parametrize("op", [SYNC, RELU], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_statistics_of_short_types_are_float32(op, dtype):
    key = {"key": "layer"} if op is SYNC else {}
    out = op(drawn(4, 3).to(dtype), *(torch.ones(3) for _ in range(4)), training=True, **key)
    assert [each.dtype for each in out] == [dtype, *[torch.float32] * 4]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: SYNC.parse({}), MXNetError, "_contrib_SyncBatchNorm: needs a value for key"),
        (
            lambda: SYNC(torch.zeros(4, 3), *(torch.ones(2) for _ in range(4)), key="layer", training=True),
            MXNetError,
            "gamma, beta, moving_mean and moving_var must have shape",
        ),
    ],
)
def test_mistakes_meet_a_sentence(call, error, says):
    with pytest.raises(error, match=says):
        call()


def member(rank: int, folder: str) -> None:
    """Compute one member's part of a batch: 1 row of 4, or 3; in float64."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/group", rank=rank, world_size=2
    )
    arrays = inputs(4, 3, 2)
    part = (slice(1), slice(1, 4))[rank]
    arrays[0] = arrays[0].detach()[part].requires_grad_()
    out, mean, variance, *states = SYNC(
        *arrays, fix_gamma=False, momentum=0.7, output_mean_var=True, key="layer", ndev=2, training=True
    )
    head = drawn(4, 3, 2, seed=9)[part]
    gradients = torch.autograd.grad(out, arrays[:3], head, create_graph=True)
    second = torch.autograd.grad((gradients[0] ** 2).sum(), arrays[0])
    torch.save(
        [each.detach() for each in (out, mean, variance, *states, *gradients, *second)], f"{folder}/{rank}"
    )
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()), reason="needs gloo"
)
def test_two_processes_normalize_over_both(tmp_path: Path):
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=member, args=(rank, str(tmp_path))) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [0, 0]
    parts = [torch.load(tmp_path / str(rank)) for rank in range(2)]

    arrays = inputs(4, 3, 2)
    whole = SYNC(*arrays, fix_gamma=False, momentum=0.7, output_mean_var=True, key="layer", training=True)
    gradients = torch.autograd.grad(whole[0], arrays[:3], drawn(4, 3, 2, seed=9), create_graph=True)
    second = torch.autograd.grad((gradients[0] ** 2).sum(), arrays[0])
    expected = [*whole, *gradients, *second]
    for index, value in enumerate(expected):
        pair = [part[index] for part in parts]
        if index in (0, 5, 8):  # output, gradients of the data: each has its part
            torch.testing.assert_close(torch.cat(pair), value)
        elif index in (6, 7):  # of gamma and beta: each has its share
            torch.testing.assert_close(pair[0] + pair[1], value)
        else:  # statistics: both have them all
            torch.testing.assert_close(pair[0], value)
            torch.testing.assert_close(pair[1], value)
