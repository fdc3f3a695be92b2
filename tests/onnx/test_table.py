"""docs/onnx.md has every operator, with what it becomes in ONNX or the reason why it does not."""

from __future__ import annotations

import pytest
from tests.parity.coverage import inventory
from tools import onnx_table


def test_each_name_of_mxnet_has_a_translation_or_a_reason() -> None:
    names = onnx_table.names_by_operator()
    assert sorted(name for several in names.values() for name in several) == sorted(inventory())
    without = [name for name in names if onnx_table.reason(name) is not None]
    assert all(onnx_table.reason(name) for name in without)


@pytest.mark.parametrize("errors", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_page_is_what_the_exporter_gives(errors: bool) -> None:
    there, found = onnx_table.read_rows(), onnx_table.rows(errors=errors)
    assert len(there) == len(found)
    for row, new in zip(there, found, strict=True):
        same = row.allows(new) if errors else row[:2] == new[:2]
        assert same, f"run `make onnx-table`: {row} is now {new}"
