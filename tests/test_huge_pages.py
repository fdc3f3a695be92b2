"""Large new arrays are in huge pages, where the system gives them to who asks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import rebind as mx
from rebind import huge_pages, tuning

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
needs_huge_pages = pytest.mark.skipif(
    sys.platform != "linux" or not SETTING.exists() or "[madvise]" not in SETTING.read_text(),
    reason="the system gives huge pages to nobody, or to all",
)
LARGE = (9, 1 << 20)  # 36 MB of float32


def asks_for_huge_pages(tensor: torch.Tensor) -> bool:
    """Return whether the system's list has the flag at the middle of a tensor's memory."""
    address, is_here = tensor.data_ptr() + tensor.nbytes // 2, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first = line.split(" ", 1)[0]
        if "-" in first and not first.endswith(":"):
            start, stop = (int(bound, 16) for bound in first.split("-"))
            is_here = start <= address < stop
        elif is_here and line.startswith("VmFlags:"):
            return " hg" in line
    return False


@needs_huge_pages
def test_large_arrays_and_states_are_in_huge_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = mx.nd.ones(LARGE)
    state = mx.optimizer.create("sgd", momentum=0.9).create_state(0, weight)
    bound = mx.sym.var("x", shape=LARGE).simple_bind(mx.cpu(), grad_req="null").arg_dict["x"]
    assert all(asks_for_huge_pages(array.tensor) for array in (weight, state, bound))
    # Not read from the system's list: memory that an array of another test left may carry its flag.
    monkeypatch.setattr(huge_pages, "_madvise", lambda: pytest.fail("asked for huge pages"))
    with tuning.changed(huge_page_bytes=1 << 40):
        mx.nd.ones(LARGE)


@pytest.mark.parametrize("least", [1, 1 << 40])
@pytest.mark.parametrize(
    ("dtype", "value"), [(torch.float32, 1.5), (torch.int8, 3), (torch.bool, True), (torch.bfloat16, 0.5)]
)
def test_the_numbers_are_those_of_torch(least: int, dtype: torch.dtype, value: float) -> None:
    with tuning.changed(huge_page_bytes=least):
        for shape in ((2, 3), (0, 3), (), (5000,)):
            found = huge_pages.full(shape, value, dtype)
            assert found.dtype is dtype and torch.equal(found, torch.full(shape, value, dtype=dtype))
            assert torch.equal(huge_pages.zeros_like(found), torch.zeros(shape, dtype=dtype))
        filters = torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)
        assert huge_pages.zeros_like(filters).is_contiguous(memory_format=torch.channels_last)


def test_a_system_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "_madvise", lambda: None)
    with tuning.changed(huge_page_bytes=1):
        assert mx.nd.ones((2,)).asnumpy().tolist() == [1, 1]
