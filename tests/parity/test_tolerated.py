"""Programs with slips that MXNet 1.9.1 runs to their end do so here, with its numbers and a warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, read_manifest
from .tolerated import PROGRAMS

RECORDED: dict[str, Any] = read_manifest(DATA / "tolerated.json")["programs"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_to_its_end_with_a_warning(name: str) -> None:
    program, text = PROGRAMS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")  # once for each line
        found = program(mx)
    np.testing.assert_allclose(np.array(found), np.array(RECORDED[name]), rtol=1e-5)
    said = [str(each.message) for each in caught]
    if text is None:
        assert not said
    else:
        assert len([each for each in said if text in each]) == 1, said
