"""MXNet's switches for GPUs, as settings of PyTorch, which are there without a GPU too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from rebind.gpu_settings import apply_gpu_settings

MATMUL, CUDNN = torch.backends.cuda.matmul, torch.backends.cudnn
SETTINGS = ((MATMUL, "allow_tf32"), (CUDNN, "allow_tf32"), (CUDNN, "benchmark"), (CUDNN, "deterministic"))


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    before = [getattr(each, name) for each, name in SETTINGS]
    yield
    for (each, name), value in zip(SETTINGS, before, strict=True):
        setattr(each, name, value)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, {}),
        ({"MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION": "1"}, {0: True, 1: True}),
        ({"MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION": "0"}, {}),
        ({"MXNET_CUDA_ALLOW_TENSOR_CORE": "0"}, {0: False, 1: False}),
        ({"MXNET_CUDA_ALLOW_TENSOR_CORE": "1"}, {}),
        (
            {"MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION": "1", "MXNET_CUDA_ALLOW_TENSOR_CORE": "0"},
            {0: False, 1: False},
        ),
        ({"MXNET_CUDNN_AUTOTUNE_DEFAULT": "0"}, {2: False}),
        ({"MXNET_CUDNN_AUTOTUNE_DEFAULT": "2"}, {2: True}),
        ({"MXNET_ENFORCE_DETERMINISM": "1", "MXNET_CUDNN_AUTOTUNE_DEFAULT": "1"}, {2: False, 3: True}),
    ],
    ids=str,
)
def test_switches(
    variables: dict[str, str], expected: dict[int, bool], first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for each, name in SETTINGS:
        setattr(each, name, first)
    apply_gpu_settings()
    found = [getattr(each, name) for each, name in SETTINGS]
    assert found == [expected.get(i, first) for i in range(len(SETTINGS))]
